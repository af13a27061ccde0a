package world_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// Component types without end: one for each A.
type (
	fullNumber[A any] struct{ N int64 }
	fullText[A any]   struct{ S string }
)

// fullKind is one of them, whichever it is.
type fullKind struct {
	of            func(n int64) any
	get           func(h handle.Handle) any
	add           func(h handle.Handle, n int64) error
	remove        func(h handle.Handle) error
	with, without world.Term
}

func newFullKind[T any](w *world.World, value func(n int64) T) fullKind {
	c, r := world.Register[T](w, fmt.Sprintf("%T", *new(T))), world.Read[T](w)
	return fullKind{
		of: func(n int64) any { return value(n) },
		get: func(h handle.Handle) any {
			if p := r.Get(h); p != nil {
				return *p
			}
			return nil
		},
		add:    func(h handle.Handle, n int64) error { return c.Add(w, h, value(n)) },
		remove: func(h handle.Handle) error { return c.Remove(w, h) },
		with:   world.With[T](w), without: world.Without[T](w),
	}
}

// twoKinds registers two component types behind so many others.
func twoKinds[A any](w *world.World, at int) []fullKind {
	world.FillComponents(w, at)
	return []fullKind{
		newFullKind(w, func(n int64) fullNumber[A] { return fullNumber[A]{n} }),
		newFullKind(w, func(n int64) fullText[A] { return fullText[A]{fmt.Sprint("text ", n)} }),
	}
}

// TestFullComponents has as many component types as a world can hold. Those at the ends
// of each word of a component set are used, alone and together, and one more is
// refused.
func TestFullComponents(t *testing.T) {
	type None struct{}
	type More struct{}
	w := world.MustNew(world.Options{Shards: 2})
	var kinds []fullKind
	for _, more := range [][]fullKind{
		twoKinds[[0]byte](w, 0), twoKinds[[1]byte](w, 62), twoKinds[[2]byte](w, 64), twoKinds[[3]byte](w, 126),
		twoKinds[[4]byte](w, 128), twoKinds[[5]byte](w, 190), twoKinds[[6]byte](w, 192), twoKinds[[7]byte](w, 254),
	} {
		kinds = append(kinds, more...)
	}
	require.PanicsWithValue(t, `world: component "more" is one more than the 256 a world can hold; register fewer, or put several into one struct`, func() { world.Register[More](w, "more") })
	nobody := world.NewBundle[None](w)

	// Each entity has five in a row, from its number on.
	const n = 512
	all := make([]handle.Handle, n)
	for i := range all {
		h, err := nobody.Create(w, None{})
		require.NoError(t, err)
		for k := range 5 {
			require.NoError(t, kinds[(i+k)%len(kinds)].add(h, int64(i*1000+k)))
		}
		all[i] = h
	}
	check := func() {
		t.Helper()
		for i, h := range all {
			for k := range len(kinds) {
				var want any
				if k < 5 {
					want = kinds[(i+k)%len(kinds)].of(int64(i*1000 + k))
				}
				require.Equal(t, want, kinds[(i+k)%len(kinds)].get(h))
			}
		}
	}
	check()
	for i, k := range kinds {
		require.Equal(t, 5*n/len(kinds), w.Query(k.with).Count(), "%d", i)
		require.Equal(t, n-5*n/len(kinds), w.Query(k.without).Count(), "%d", i)
	}
	w.Refresh()
	check()

	// One that has all of them, and a copy of it.
	h, err := nobody.Create(w, None{})
	require.NoError(t, err)
	for i, k := range kinds {
		require.NoError(t, k.add(h, int64(i)))
	}
	twin, err := world.Copy(w, h)
	require.NoError(t, err)
	for i, k := range kinds {
		require.Equal(t, k.of(int64(i)), k.get(h))
		require.NoError(t, k.remove(h), "%d", i)
		require.ErrorIs(t, k.remove(h), world.ErrMissing)
	}
	for i, k := range kinds {
		require.Nil(t, k.get(h))
		require.Equal(t, k.of(int64(i)), k.get(twin))
	}
	w.Destroy(twin)
	w.Refresh()
	check()
}
