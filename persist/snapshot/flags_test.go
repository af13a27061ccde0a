package snapshot_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// TestLoadFlags loads a world with flags, changes one of them, and has rows move: by handle, in
// frames and for queries entities have the flags that they had, and the one that was changed.
func TestLoadFlags(t *testing.T) {
	x, small := bowl(world.Options{})
	hs, err := small.AppendN(nil, x, 60, nil)
	require.NoError(t, err)
	flags := map[handle.Handle]world.Flags{}
	for i, h := range hs {
		if i%3 > 0 {
			flags[h] = world.Flags(i%3) << 3
			require.NoError(t, world.AddFlags(x, h, flags[h]))
		}
	}
	file := saved(t, x, snapshot.Options{})
	y, other := bowl(world.Options{})
	require.NoError(t, snapshot.Load(bytes.NewReader(file), y, snapshot.Options{}))
	view, err := y.NewView()
	require.NoError(t, err)
	check := func() {
		t.Helper()
		frame, err := view.Now()
		require.NoError(t, err)
		defer frame.Release()
		with := map[world.Flags][]handle.Handle{}
		for _, h := range hs {
			require.Equal(t, flags[h], world.FlagsOf(y, h))
			require.Equal(t, flags[h], frame.Flags(h))
			for f := world.Flags(1); f != 0; f <<= 1 {
				if flags[h]&f != 0 {
					with[f] = append(with[f], h)
				}
			}
		}
		for f := world.Flags(1); f != 0; f <<= 1 {
			require.ElementsMatch(t, with[f], slices.Collect(handles(y.Query(world.WithFlags(y, f)))))
			require.ElementsMatch(t, with[f], slices.Collect(handles(frame.Query(world.WithFlags(frame, f)))))
		}
	}
	check()
	for i, h := range hs {
		if i%2 == 0 {
			flags[h] |= 1
			require.NoError(t, world.AddFlags(y, h, 1))
		}
	}
	y.Refresh()
	check()
	for _, h := range hs[:40] { // the last rows fill the holes
		y.Destroy(h)
	}
	hs = hs[40:]
	y.Refresh()
	check()
	for _, h := range hs {
		delete(flags, h)
		require.NoError(t, world.RemoveFlags(y, h, ^world.Flags(0)))
	}
	y.Refresh()
	check()
	more, err := other.AppendN(nil, y, 20, nil)
	require.NoError(t, err)
	hs = append(hs, more...)
	flags[more[19]] = 64
	require.NoError(t, world.AddFlags(y, more[19], 64))
	y.Refresh()
	check()
}

// handles are what a query finds.
func handles(q *world.Query) func(yield func(handle.Handle) bool) {
	return func(yield func(handle.Handle) bool) {
		for h := range q.Entities() {
			if !yield(h) {
				return
			}
		}
	}
}
