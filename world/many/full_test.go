//go:build !race

// The compiler takes most of a minute for 256 component types under the race
// detector, which has nothing to find in a test of one goroutine.

package many_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// TestManyComponents registers as many component types as a world can hold, uses
// each, alone and with others, up to an entity that has all, and is refused one
// more.
func TestManyComponents(t *testing.T) {
	type None struct{}
	type More struct{}
	w := world.MustNew(world.Options{Shards: 2})
	kinds := registerMany(w)
	require.Len(t, kinds, 256)
	require.PanicsWithValue(t, `world: component "more" is one more than the 256 a world can hold; register fewer, or put several into one struct`, func() { world.Register[More](w, "more") })
	nobody := world.NewBundle[None](w)

	// Each entity has ten in a row, from its number on.
	const n = 512
	all := make([]handle.Handle, n)
	for i := range all {
		h, err := nobody.Create(w, None{})
		require.NoError(t, err)
		for k := range 10 {
			require.NoError(t, kinds[(i+k)%256].add(w, h, int64(i*1000+k)))
		}
		all[i] = h
	}
	check := func() {
		t.Helper()
		for i, h := range all {
			for k := range 12 {
				var want any
				if k < 10 {
					want = kinds[(i+k)%256].of(int64(i*1000 + k))
				}
				require.Equal(t, want, kinds[(i+k)%256].get(h))
			}
		}
	}
	check()
	for i, k := range kinds {
		with, without, read, _ := k.terms()
		require.Equal(t, 10*n/256, w.Query(with).Count(), "%d", i)
		require.Equal(t, n-10*n/256, w.Query(without).Count(), "%d", i)
		for ch := range w.Query(read).Chunks() {
			for row, h := range ch.Handles() {
				require.Equal(t, k.get(h), k.at(ch, row))
			}
		}
	}
	w.Refresh()
	check()

	// One that has all of them.
	h, err := nobody.Create(w, None{})
	require.NoError(t, err)
	for i, k := range kinds {
		require.NoError(t, k.add(w, h, int64(i)))
	}
	mustHaveMany(t, kinds, h, 256, 0)
	twin, err := w.Copy(h)
	require.NoError(t, err)
	for i, k := range kinds {
		require.NoError(t, k.remove(w, h), "%d", i)
		require.ErrorIs(t, k.remove(w, h), world.ErrMissing)
	}
	mustHaveMany(t, kinds, h, 0, 0)
	mustHaveMany(t, kinds, twin, 256, 0)
	w.Destroy(twin)
	w.Refresh()
	check()
}

// registerMany registers as many component types as a world can hold.
func registerMany(w *world.World) []manyKind {
	var all []manyKind
	for _, more := range []func(*world.World) []manyKind{
		sixteen[*[0]byte], sixteen[*[1]byte], sixteen[*[2]byte], sixteen[*[3]byte], sixteen[*[4]byte], sixteen[*[5]byte],
		sixteen[*[6]byte], sixteen[*[7]byte], sixteen[*[8]byte], sixteen[*[9]byte], sixteen[*[10]byte], sixteen[*[11]byte],
		sixteen[*[12]byte], sixteen[*[13]byte], sixteen[*[14]byte], sixteen[*[15]byte],
	} {
		all = append(all, more(w)...)
	}
	return all
}
