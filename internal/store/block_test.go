package store_test

import (
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// TestBlocks lets four shards create in turns, one by one, with two columns: what each column has
// is in few long runs of memory, none of which another column has a part of.
func TestBlocks(t *testing.T) {
	if check.Enabled {
		t.Skip("one goroutine does this, and it takes long with the checks")
	}
	s := newStorage(t, 4, handle.IndexMax, handle.VersionMax)
	other := store.NewTyped[int64](s.space)
	both := set(number, text+1)
	const chunks = 64 // a shard
	for range chunks * 4 {
		for _, sh := range s.shards {
			for range slots.RowsMax / 4 {
				_, err := s.create(sh, both, 0)
				require.NoError(t, err)
			}
		}
	}
	for _, c := range []store.Typed[int64]{s.numbers, other} {
		var at []uintptr
		for _, sh := range s.shards {
			for _, x := range sh.Table(both).Chunks() {
				if x.Cap() == slots.RowsMax {
					at = append(at, uintptr(unsafe.Pointer(c.At(store.FirstLoc(x)))))
				}
			}
		}
		slices.Sort(at)
		runs := 1
		for i := range at[1:] {
			if at[i+1] != at[i]+slots.RowsMax*8 {
				runs++
			}
		}
		// 8 MB: the first chunk and the first strip of each shard, and blocks that double up to 2 MB.
		// Strips alone would make 4 times 7 runs.
		require.LessOrEqual(t, runs, 4+4+6)
	}
}

// TestBlocksEnd lets a world grow within a bubble, and stop: no goroutine is left, and the prepared
// blocks go if nothing needs them.
func TestBlocksEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // fails if a goroutine is left
		before := runtime.NumGoroutine()
		s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
		s.mustCreate(s.shards[0], 12*slots.RowsMax)
		synctest.Wait()
		require.LessOrEqual(t, runtime.NumGoroutine(), before)
		held := s.space.HeldBytes()
		for tick := range uint64(32) {
			s.space.SetTick(tick + 1)
			s.refresh()
			s.space.Trim()
		}
		require.Less(t, s.space.HeldBytes(), held)
		require.LessOrEqual(t, s.space.HeldBytes(), uint64(8*slots.RowsMax*8), "less than what the table has")
	})
}

// TestBlocksShared lets two tables have strips of the same blocks, in turns, and one of them end:
// its rows are used again, also those that no chunk had yet.
func TestBlocksShared(t *testing.T) {
	if check.Enabled {
		t.Skip("one goroutine does this, and it takes long with the checks")
	}
	for n := 6; n <= 14; n += 4 {
		s := newStorage(t, 2, handle.IndexMax, handle.VersionMax)
		ends, stays := s.shards[0], s.shards[1]
		var all []handle.Handle
		for range n {
			all = append(all, s.mustCreate(ends, slots.RowsMax)...)
			s.mustCreate(stays, slots.RowsMax)
		}
		s.destroy(all...)
		s.refresh()
		ends.ShrinkAll()
		s.mustCreate(stays, 20*slots.RowsMax) // in what was kept, which so cannot be given back
		least := s.space.HeldBytes()
		for range 40 {
			s.mustCreate(stays, slots.RowsMax)
			s.space.TrimAll()
			least = min(least, s.space.HeldBytes())
		}
		require.Zero(t, least, "at the end of some strip")

		s.destroy(rows(stays.Table(set(number)))...)
		s.refresh()
		stays.ShrinkAll()
		s.space.TrimAll()
		require.Zero(t, s.space.HeldBytes())
	}
}

// TestRowsReady fills chunks one by one: the rows that are ready are few more than those that there
// are.
func TestRowsReady(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh, table := s.shards[0], s.shards[0].Table(set(number))
	for range 3 * slots.RowsMax {
		s.mustCreate(sh, 1)
		c := table.Chunks()[len(table.Chunks())-1]
		require.LessOrEqual(t, c.Ready(), len(c.Handles())+2048)
		require.GreaterOrEqual(t, c.Ready(), len(c.Handles()))
	}
}

// TestBlocksOfWaves lets a table come and go many times, alone or beside one that stays: what is
// expected of the next growth does not add up.
func TestBlocksOfWaves(t *testing.T) {
	for _, n := range []int{0, 100 * 64} {
		s := newStorage(t, 2, handle.IndexMax, handle.VersionMax)
		sh, stays := s.shards[0], s.shards[1]
		s.space.Growth.RowsMax = 64
		s.mustCreate(stays, n)
		expected := s.numbers.Wanted()
		for wave := range 40 {
			s.destroy(s.mustCreate(sh, []int{300, 3000}[wave%2])...)
			s.refresh()
			sh.ShrinkAll()
			s.space.TrimAll()
			require.LessOrEqual(t, s.numbers.Wanted(), expected+16*64, "%d rows stay, wave %d", n, wave)
		}
	}
}
