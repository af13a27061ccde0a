//go:build !race

package snapshot_test

import (
	"fmt"
	"math"
	"math/big"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/persist/snapshot"
)

type number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr | ~float32 | ~float64
}

// edges are numbers at which one of two types may not hold what the other does.
func edges[F number]() (all []F) {
	for _, bits := range []uint{0, 7, 8, 15, 16, 23, 24, 25, 31, 32, 52, 53, 54, 62, 63} {
		for _, d := range []int{-1, 0, 1} {
			all = append(all, F(uint64(1)<<bits+uint64(d)), -F(uint64(1)<<bits+uint64(d)))
		}
	}
	half := F(1)
	half /= 2 // of a float
	return append(all, half, -half, half*3, F(0))
}

type (
	padded[N number] struct {
		_ bool
		V N
	}
	shifted[N number] struct {
		_ [3]bool
		V N
	}
)

// numberPair loads numbers of one type as those of another: by themselves if each of them stays
// what it is, else as the nearest.
func numberPair[F, T number](t *testing.T, image valuesOf, values []padded[F]) {
	exact := true
	got, err := loadAs[shifted[T]](t, image, snapshot.Narrowed("it", "V"))
	require.NoError(t, err)
	require.Len(t, got, len(values))
	for i, x := range got {
		was, is := bigOf(values[i].V), bigOf(x.V)
		exact = exact && was.Cmp(is) == 0
		if want := nearestOf[T](was); want.Cmp(is) != 0 {
			t.Fatalf("%T %v became %T %v, want %v", values[i].V, values[i].V, x.V, x.V, want)
		}
	}
	_, err = loadAs[shifted[T]](t, image)
	require.Equal(t, exact, err == nil, "%T to %T: %v", F(0), T(0), err)
}

func bigOf[N number](v N) *big.Float {
	if v := reflect.ValueOf(v); v.CanFloat() {
		return big.NewFloat(v.Float())
	}
	whole, _ := new(big.Int).SetString(fmt.Sprint(v), 10)
	return new(big.Float).SetInt(whole)
}

// nearestOf returns what a type has that is nearest to a number, towards zero for integers.
func nearestOf[T number](v *big.Float) *big.Float {
	typ := reflect.TypeFor[T]()
	bits, least := uint(typ.Bits()), new(big.Int)
	switch zero := reflect.Zero(typ); {
	case typ.Kind() == reflect.Float32:
		f, _ := v.Float32()
		return big.NewFloat(float64(f))
	case typ.Kind() == reflect.Float64:
		f, _ := v.Float64()
		return big.NewFloat(f)
	case zero.CanInt():
		bits--
		least.Neg(least.Lsh(big.NewInt(1), bits))
	}
	most := new(big.Int).Lsh(big.NewInt(1), bits)
	most.Sub(most, big.NewInt(1))
	whole, _ := v.Int(nil)
	switch {
	case whole.Cmp(least) < 0:
		whole = least
	case whole.Cmp(most) > 0:
		whole = most
	}
	return new(big.Float).SetInt(whole)
}

func numbersOf[F number](t *testing.T) {
	var values []padded[F]
	for _, v := range edges[F]() {
		values = append(values, padded[F]{V: v})
	}
	image := packed(t, values...)
	numberPair[F, int](t, image, values)
	numberPair[F, int8](t, image, values)
	numberPair[F, int16](t, image, values)
	numberPair[F, int32](t, image, values)
	numberPair[F, int64](t, image, values)
	numberPair[F, uint](t, image, values)
	numberPair[F, uint8](t, image, values)
	numberPair[F, uint16](t, image, values)
	numberPair[F, uint32](t, image, values)
	numberPair[F, uint64](t, image, values)
	numberPair[F, uintptr](t, image, values)
	numberPair[F, float32](t, image, values)
	numberPair[F, float64](t, image, values)
}

// TestNumbers loads each type of number as each.
func TestNumbers(t *testing.T) {
	numbersOf[int](t)
	numbersOf[int8](t)
	numbersOf[int16](t)
	numbersOf[int32](t)
	numbersOf[int64](t)
	numbersOf[uint](t)
	numbersOf[uint8](t)
	numbersOf[uint16](t)
	numbersOf[uint32](t)
	numbersOf[uint64](t)
	numbersOf[uintptr](t)
	numbersOf[float32](t)
	numbersOf[float64](t)
	for f, want := range map[float64]int16{math.NaN(): 0, math.Inf(1): math.MaxInt16, math.Inf(-1): math.MinInt16} {
		got, err := loadAs[int16](t, packed(t, f), snapshot.Narrowed("it", ""))
		require.NoError(t, err)
		require.Equal(t, []int16{want}, got)
	}
}
