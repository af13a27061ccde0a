package store

import (
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/slots"
)

// While shards run at the same time, what one of them stores is hidden from the others: whether they
// would see it depends on time. Reveal ends that, at a moment when no shard runs. Rows do not move
// while systems or hooks run. So an atom is hidden if its chunk did not have its row at the last
// Reveal, and to create costs nothing more, except for the first row of a table.

// hidden says from which row on a chunk's rows are hidden, and since which Reveal.
//
//	hidden  | number of the Reveal (51 bits) | first row (13 bits) |
//
// Ownership: written by the shard's owner, before it publishes an atom in such a row. Any goroutine
// that saw the atom alive may read it.
type hidden struct{ atomic.Uint64 }

const hiddenShift = slots.RowBits + 1 // the first row may be one behind the last

// Reveal makes everything that is stored visible to all shards. From now on, what a shard stores is
// hidden from the others. The caller must own all shards.
func (s *Space) Reveal(shards []*Shard) {
	s.reveals.Add(1)
	for _, x := range shards {
		x.Loop++ // so that the next row of each table comes by nextRow
	}
}

// Hidden reports whether the atom at l was stored after the last Reveal. It may be asked of an atom
// of any shard, while systems or hooks run.
func (s *Space) Hidden(l slots.Loc) bool {
	x := s.chunk(l).hidden.Load()
	return x>>hiddenShift == s.reveals.Load() && l.Row() >= int(x&(1<<hiddenShift-1))
}

// hide makes the rows that the chunk gets from now on hidden, up to the next Reveal.
func (c *Chunk) hide() {
	if now := c.table.shard.space.reveals.Load(); c.hidden.Load()>>hiddenShift != now {
		c.hidden.Store(now<<hiddenShift | uint64(c.n))
	}
}
