package shard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
)

// TestDoomed lists the marked of a shard with full, part full and unmarked chunks,
// and spares some.
func TestDoomed(t *testing.T) {
	s := newStorage(t, 2, handle.IndexMax, handle.VersionMax)
	r := newRand(t, 1)
	all := append(s.mustCreate(s.shards[0], 900), s.mustCreate(s.shards[1], 100)...)
	marked := map[handle.Handle]bool{}
	var hs []handle.Handle
	for i, h := range all {
		if i < 16 || i >= 80 && r.IntN(3) == 0 { // all of the first chunk, none of the second
			hs = append(hs, h)
			marked[h] = true
		}
	}
	s.destroy(hs[:20]...)
	var told []handle.Handle
	strange := []handle.Handle{handle.None, all[0] + 1, 1<<63 + 5, 7 << 28}
	twice := append(strange, hs...)
	s.space.MarkEach(append(twice, hs[20:30]...), &told)
	require.Equal(t, hs[20:], told, "those that were not marked yet, and are alive")
	s.space.MarkEach(hs, nil)

	doomed := func() (all []handle.Handle) {
		for _, sh := range s.shards {
			all = sh.AppendDoomed(all)
		}
		return all
	}
	require.ElementsMatch(t, hs, doomed())
	require.Equal(t, doomed(), doomed())

	for i, h := range all {
		if i%2 == 0 {
			s.space.Spare(s.space.Locate(h)) // marked or not
			delete(marked, h)
		}
	}
	require.Len(t, doomed(), len(marked))
	s.refresh()
	for _, h := range all {
		require.Equal(t, marked[h], s.space.Locate(h) == 0)
	}
	require.Empty(t, doomed())

	// Chunks that have no marked row left are no harm, nor in the next sweep.
	alive := rows(s.shards[0].Table(set(number)))
	s.destroy(alive[0])
	s.space.Spare(s.space.Locate(alive[0]))
	s.refresh()
	s.destroy(alive[1])
	s.refresh()
	require.NotZero(t, s.space.Locate(alive[0]))
	require.Zero(t, s.space.Locate(alive[1]))
}
