//go:build !race

package snapshot_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/atoll-sim/atoll/internal/form"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
)

// plannedType is a type whose values are saved, and read as those of others.
type plannedType struct {
	reflect.Type
	values any // a slice
	image  []byte
	read   func(form form.Form, image []byte, n int) (any, error)
}

func planned[T any](t *testing.T, dice *rand.Rand) plannedType {
	values := make([]T, 4)
	for i := range values {
		if i > 0 {
			fill(reflect.ValueOf(&values[i]).Elem(), dice)
		}
	}
	f, err := (*form.Codecs)(new(state.Codecs)).Form(reflect.TypeFor[T](), true)
	require.NoError(t, err)
	return plannedType{reflect.TypeFor[T](), values, f.AppendAll(nil, mem.CellsOf(values)), func(form form.Form, image []byte, n int) (any, error) {
		read := make([]T, n)
		rest, err := form.ReadAll(image, mem.CellsOf(read))
		if err == nil && len(rest) > 0 {
			err = fmt.Errorf("%d bytes are left", len(rest))
		}
		return read, err
	}}
}

// within are the types that hold a type in each way.
func within[T any](t *testing.T, dice *rand.Rand) []plannedType {
	return []plannedType{
		planned[T](t, dice), planned[[]T](t, dice), planned[[2]T](t, dice), planned[[][3]T](t, dice), planned[map[string]T](t, dice), planned[plainHolder[T]](t, dice),
		planned[[]otherHolder[T]](t, dice), planned[[]plainHolder[T]](t, dice), planned[*embedder[T]](t, dice), planned[embedder[T]](t, dice), planned[map[int8]*numberHolder[T]](t, dice),
	}
}

type (
	plainHolder[T any] struct {
		N int8
		A T
	}
	otherHolder[T any] struct {
		A    T
		Also string
		N    float32
	}
	Base[T any]     struct{ A T }
	embedder[T any] struct {
		Base[T]
		N int16
	}
	numberHolder[T any] struct {
		A T   `cbor:"1,keyasint"`
		N int `json:",omitempty"`
	}
)

// fill gives a value something of everything.
func fill(v reflect.Value, dice *rand.Rand) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Unix(dice.Int64N(1<<33), 5).UTC()))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(dice.IntN(2) == 0)
	case reflect.String:
		v.SetString(strings.Repeat("x", dice.IntN(3)))
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), dice)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), dice)
		}
	case reflect.Slice:
		if n := dice.IntN(4); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n-1, n-1))
		}
		for i := range v.Len() {
			fill(v.Index(i), dice)
		}
	case reflect.Pointer:
		if dice.IntN(4) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), dice)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range dice.IntN(3) {
			key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(key, dice)
			fill(elem, dice)
			v.SetMapIndex(key, elem)
		}
	default:
		switch bits := dice.Uint64(); {
		case v.CanInt():
			v.SetInt(int64(bits) >> (64 - v.Type().Bits()))
		case v.CanUint():
			v.SetUint(bits >> (64 - v.Type().Bits()))
		case v.CanFloat():
			v.SetFloat(float64(float32(dice.NormFloat64())))
		case v.CanComplex():
			v.SetComplex(complex(float64(float32(dice.NormFloat64())), 1))
		}
	}
}

// become sets a value to what an old one should become, field by field.
func become(now, old reflect.Value) {
	switch {
	case now.Type() == old.Type():
		now.Set(old)
		return
	case old.Kind() == reflect.Struct && now.Kind() != reflect.Struct:
		return // a struct without fields has nothing to become
	case now.CanInt() || now.CanUint() || now.CanFloat() || now.CanComplex():
		now.Set(old.Convert(now.Type()))
		return
	}
	switch now.Kind() {
	case reflect.Struct:
		for i := range now.NumField() {
			name := now.Type().Field(i).Name
			if was := old.FieldByName(name); was.IsValid() {
				become(now.Field(i), was)
			} else if name == "Base" {
				become(now.Field(i), old) // of which only CBOR reads fields
			}
		}
	case reflect.Array:
		for i := range old.Len() {
			become(now.Index(i), old.Index(i))
		}
	case reflect.Slice:
		if !old.IsNil() {
			now.Set(reflect.MakeSlice(now.Type(), old.Len(), old.Len()))
		}
		for i := range old.Len() {
			become(now.Index(i), old.Index(i))
		}
	case reflect.Pointer:
		if !old.IsNil() {
			now.Set(reflect.New(now.Type().Elem()))
			become(now.Elem(), old.Elem())
		}
	case reflect.Map:
		if !old.IsNil() {
			now.Set(reflect.MakeMap(now.Type()))
		}
		for k, v := range old.Seq2() {
			key, elem := reflect.New(now.Type().Key()).Elem(), reflect.New(now.Type().Elem()).Elem()
			become(key, k)
			become(elem, v)
			now.SetMapIndex(key, elem)
		}
	}
}

// TestPlans reads values of each of many types as each other: what a plan allows is read, and is
// right; and so is all that is dropped because the plan says so.
func TestPlans(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	var all []plannedType
	for _, f := range []func(*testing.T, *rand.Rand) []plannedType{
		within[int8], within[uint8], within[int32], within[float64], within[bool], within[handle.Handle], within[string], within[time.Time],
		within[spot], within[thing], within[struct{}], within[[]byte],
	} {
		all = append(all, f(t, dice)...)
	}
	all = append(all, planned[complex64](t, dice), planned[complex128](t, dice), planned[[2]complex64](t, dice), planned[[3]complex128](t, dice))
	loaded, dropped := 0, 0
	for _, old := range all {
		for _, now := range all {
			about := fmt.Sprintf("%v → %v", old, now)
			plan, form, err := snapshot.Conversion(old.Type, now.Type, new(state.Codecs))
			require.NoError(t, err, about)
			if len(plan.Blocking()) == 0 {
				read, err := now.read(form, old.image, 4)
				require.NoError(t, err, "%s\n%v", about, plan)
				want := reflect.MakeSlice(reflect.TypeOf(now.values), 4, 4)
				for i := range 4 {
					become(want.Index(i), reflect.ValueOf(old.values).Index(i))
				}
				require.Equal(t, want.Interface(), read, "%s\n%v", about, plan)
				loaded++
				continue
			}
			var changes []snapshot.Change
			for _, d := range plan.Blocking() {
				changes = append(changes, snapshot.Dropped("it", d.Field))
			}
			plan, form, err = snapshot.Conversion(old.Type, now.Type, new(state.Codecs), changes...)
			require.NoError(t, err, about)
			require.Empty(t, plan.Blocking(), about)
			_, err = now.read(form, old.image, 4)
			require.NoError(t, err, "%s\n%v", about, plan)
			dropped++
		}
	}
	require.Greater(t, loaded, 400)
	require.Greater(t, dropped, 5000)
}
