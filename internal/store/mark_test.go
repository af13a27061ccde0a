package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
)

// TestMarked lists the marked of a shard with full, part full and unmarked chunks,
// and spares some.
func TestMarked(t *testing.T) {
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

	dying := func() (all []handle.Handle) {
		for _, sh := range s.shards {
			all = sh.AppendMarked(all)
		}
		return all
	}
	require.ElementsMatch(t, hs, dying())
	require.Equal(t, dying(), dying())

	for i, h := range all {
		if i%2 == 0 {
			s.space.Spare(s.space.Locate(h)) // marked or not
			delete(marked, h)
		}
	}
	require.Len(t, dying(), len(marked))
	s.refresh()
	for _, h := range all {
		require.Equal(t, marked[h], s.space.Locate(h) == 0)
	}
	require.Empty(t, dying())

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

// TestMarkAll marks all atoms of tables of many sizes, one of which is marked already, and
// spares one.
func TestMarkAll(t *testing.T) {
	for _, n := range []int{2, 16, 17, 79, 80, 144, 209, 273, 336} {
		s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
		sh := s.shards[0]
		all := s.mustCreate(sh, n)
		s.destroy(all[0])
		require.Equal(t, n-1, sh.MarkAll())
		require.Zero(t, sh.MarkAll())
		for _, h := range all {
			require.True(t, s.space.Marked(s.space.Locate(h)), "of %d", n)
		}
		s.space.Spare(s.space.Locate(all[n-1]))
		s.refresh()
		require.Equal(t, all[n-1:], rows(sh.Table(set(number))))
	}
}

// TestMarkEachScattered marks atoms in any order, among handles that their slots will give
// next: those who have the slots now are not meant.
func TestMarkEachScattered(t *testing.T) {
	for seed := range uint64(5) {
		s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
		r := newRand(t, seed)
		all := s.mustCreate(s.shards[0], 400)
		r.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
		var hs []handle.Handle
		for i, h := range all {
			if i < 150 {
				hs = append(hs, h)
			} else {
				hs = append(hs, h+1)
			}
		}
		hs = append(hs, 512<<handle.VersionBits) // of a slot that was never given
		r.Shuffle(len(hs), func(i, k int) { hs[i], hs[k] = hs[k], hs[i] })
		var told []handle.Handle
		s.space.MarkEach(hs, &told)
		require.ElementsMatch(t, all[:150], told)
		require.ElementsMatch(t, all[:150], s.shards[0].AppendMarked(nil))
		for i, h := range all {
			require.Equal(t, i < 150, s.space.Marked(s.space.Locate(h)))
		}
	}
}

// TestMarkEachFar marks atoms of which one is 4096 times as far in the space as the other.
func TestMarkEachFar(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	s.space.Growth.RowsFirst, s.space.Growth.RowsMax = 1, 1 // so each has a chunk
	all := s.mustCreate(s.shards[0], 4096)
	hs := []handle.Handle{all[4095], all[0]}
	s.space.MarkEach(hs, nil)
	require.ElementsMatch(t, hs, s.shards[0].AppendMarked(nil))
}
