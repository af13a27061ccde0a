package store_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// jumps returns how many of a table's chunks have their numbers elsewhere than right behind
// those of the chunk before.
func (s *storage) jumps(t *store.Table) (n int) {
	end := uintptr(0)
	for _, c := range t.Chunks() {
		at := uintptr(unsafe.Pointer(s.numbers.At(store.FirstLoc(c))))
		if at != end {
			n++
		}
		end = at + uintptr(c.Cap())*unsafe.Sizeof(int64(0))
	}
	return n
}

// TestStripGrowth has two shards create in turns, one by one: the chunks of each table are
// neighbours in strips that grow with it.
func TestStripGrowth(t *testing.T) {
	s := newStorage(t, 2, handle.IndexMax, handle.VersionMax)
	const chunks = 32
	for range chunks {
		for _, sh := range s.shards {
			s.mustCreate(sh, slots.RowsMax)
		}
	}
	for _, sh := range s.shards {
		table := sh.Table(set(number))
		require.Len(t, table.Chunks(), 4+chunks)
		// Chunks of 16, 64, 256 and 1,024 rows; one chunk, and strips of 3, 4, 8 and 16.
		// Two may be shorter, at the end of a block.
		require.LessOrEqual(t, s.jumps(table), 4+7)
	}
}

// TestStripReserved makes room for many rows at once, of which the table has none yet: its
// strips are as large as they get.
func TestStripReserved(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	for strips, components := range map[int]store.Set{2: set(number), 4: set(number, text)} {
		table := s.shards[0].Table(components)
		require.NoError(t, s.shards[0].Reserve(table, 32*slots.RowsMax))
		require.Len(t, table.Chunks(), 32)
		require.LessOrEqual(t, s.jumps(table), strips, "strips may happen to be neighbours")
	}
}

// TestStripGivenBack empties tables whose chunks share strips: what one dropped while
// others are in use is kept, and is what the next chunk gets, in order; in the end nothing is.
func TestStripGivenBack(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh := s.shards[0]
	table := sh.Table(set(number))
	const chunks = 16
	require.NoError(t, sh.Reserve(table, chunks*slots.RowsMax))
	all := s.mustCreate(sh, chunks*slots.RowsMax)
	first := s.numbers.At(store.FirstLoc(table.Chunks()[1]))
	giveBack := func() {
		s.refresh()
		sh.ShrinkAll()
		s.space.TrimAll()
	}
	s.destroy(all[slots.RowsMax:]...)
	giveBack()
	require.Len(t, table.Chunks(), 1)
	require.Equal(t, chunks-1, s.numbers.Spare(), "the strip is in use")
	s.mustCreate(sh, (chunks-1)*slots.RowsMax)
	require.Zero(t, s.numbers.Spare())
	require.Same(t, first, s.numbers.At(store.FirstLoc(table.Chunks()[1])))
	require.Equal(t, 1, s.jumps(table))

	s.destroy(rows(table)...)
	giveBack()
	require.Empty(t, table.Chunks())
	require.Zero(t, s.numbers.Spare())
}

// TestStripRetagged gives chunks to a table with another column, and back: they are neighbours
// in both, and free rows hold zeroes.
func TestStripRetagged(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	sh := s.shards[0]
	bare, full := sh.Table(set(text)), sh.Table(set(number, text))
	require.NoError(t, sh.Reserve(bare, 8*slots.RowsMax))
	for range 8 * slots.RowsMax {
		_, err := s.create(sh, set(text), 0)
		require.NoError(t, err)
	}
	for range 3 {
		require.NoError(t, bare.Retag(full.Set(), func(r store.Rows) {
			for i := range r.Len() {
				p := s.numbers.At(r.Loc(i))
				require.Zero(t, *p)
				*p = 1
			}
		}))
		require.Len(t, full.Chunks(), 8)
		require.Equal(t, 1, s.jumps(full))
		require.NoError(t, full.Retag(bare.Set(), func(store.Rows) {}))
		s.refresh()
	}
}

// TestStripHeld compares what is said to be held with the strips and blocks there are, while chunks
// come and go. It does not depend on what a goroutine has done yet.
func TestStripHeld(t *testing.T) {
	s := newStorage(t, 1, handle.IndexMax, handle.VersionMax)
	require.Zero(t, s.space.HeldBytes())
	require.NoError(t, s.shards[0].Reserve(s.shards[0].Table(set(number)), 3*slots.RowsMax))
	require.Zero(t, s.space.HeldBytes(), "a strip of three is in use")
	const chunk = slots.RowsMax * 8
	all := s.mustCreate(s.shards[0], 4*slots.RowsMax)
	require.Equal(t, uint64(2*chunk), s.space.HeldBytes(), "and the first of three more")
	all = append(all, s.mustCreate(s.shards[0], slots.RowsMax)...)
	require.Equal(t, uint64(1*chunk+6*chunk), s.space.HeldBytes(), "and the second, and a block of six is prepared")
	all = append(all, s.mustCreate(s.shards[0], slots.RowsMax+1)...)
	require.Equal(t, uint64(5*chunk), s.space.HeldBytes(), "the table has one of the six")
	s.destroy(all...)
	s.refresh()
	s.shards[0].ShrinkAll()
	s.space.TrimAll()
	require.Zero(t, s.space.HeldBytes())
}
