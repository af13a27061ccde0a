//go:build !race

package snapshot_test

import (
	"fmt"
	"math/big"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
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

// numberPair loads numbers of one type as those of another, which it may do if each of them stays
// what it is.
func numberPair[F, T number](t *testing.T, image valuesOf, values []padded[F]) {
	exact := true
	for _, x := range values {
		was, is := bigOf(x.V), bigOf(T(x.V))
		exact = exact && was.Cmp(is) == 0
	}
	got, err := loadAs[shifted[T]](t, image)
	if !exact {
		require.ErrorContains(t, err, "does not hold each of its values", "%T to %T", F(0), T(0))
		return
	}
	require.NoError(t, err, "%T to %T", F(0), T(0))
	require.Len(t, got, len(values))
	for i, x := range got {
		require.Zero(t, bigOf(values[i].V).Cmp(bigOf(x.V)), "%T %v became %T %v", values[i].V, values[i].V, x.V, x.V)
	}
}

func bigOf[N number](v N) *big.Float {
	if v := reflect.ValueOf(v); v.CanFloat() {
		return big.NewFloat(v.Float())
	}
	whole, _ := new(big.Int).SetString(fmt.Sprint(v), 10)
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
}
