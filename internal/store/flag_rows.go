package store

import (
	"math/bits"

	"github.com/atoll-sim/atoll/internal/slots"
)

// Beside the published words, see Flags, flags are kept here by row. These sets belong to the
// owner, are always up to date, and follow the row wherever it goes; queries look at them.

// flagSets says which rows of a chunk have flags: a set of rows for each flag, nil until
// used. A chunk in which nothing was ever flagged has none.
//
// Invariants: bits of rows that are not occupied are 0.
//
// Ownership: the shard's owner.
type flagSets struct {
	sets [slots.FlagsMax][]uint64
	n    int // bits set
}

// none reports whether no row has a flag.
func (s *flagSets) none() bool { return s == nil || s.n == 0 }

// flagsAt returns the flags of a row.
func (c *Chunk) flagsAt(row int) (f slots.Flags) {
	if c.flags.none() {
		return 0
	}
	for i, set := range c.flags.sets {
		if set != nil && set[row/64]>>(row%64)&1 != 0 {
			f |= 1 << i
		}
	}
	return f
}

// setFlags sets the flags of a row to f.
func (c *Chunk) setFlags(row int, f slots.Flags) {
	for d := f ^ c.flagsAt(row); d != 0; d &= d - 1 {
		if c.flags == nil {
			c.flags = new(flagSets)
		}
		i := bits.TrailingZeros8(uint8(d))
		set := &c.flags.sets[i]
		if *set == nil {
			*set = make([]uint64, len(c.marks))
		}
		(*set)[row/64] ^= 1 << (row % 64)
		if f>>i&1 != 0 {
			c.flags.n++
		} else {
			c.flags.n--
		}
	}
}

// dropFlags clears the flags of a row.
func (c *Chunk) dropFlags(row int) {
	if !c.flags.none() {
		c.setFlags(row, 0)
	}
}

// carryFlags moves to a row the flags of another row, which is about to be given up.
func (c *Chunk) carryFlags(row int, from *Chunk, fromRow int) {
	if c.flags.none() && from.flags.none() {
		return
	}
	c.setFlags(row, from.flagsAt(fromRow))
	from.dropFlags(fromRow)
}

// clearFlags clears the flags of all rows.
func (c *Chunk) clearFlags() {
	if c.flags.none() {
		return
	}
	for _, set := range c.flags.sets {
		clear(set)
	}
	c.flags.n = 0
}

// Filter says which rows of a table match a query: those with all flags of With and none
// of Without.
type Filter struct{ With, Without slots.Flags }

// All reports whether all rows match: the filter asks for no flags.
func (f *Filter) All() bool { return f.With|f.Without == 0 }

// Matching yields the runs of the rows that match. It stops and returns false if yield does.
func (r Rows) Matching(f *Filter, yield func(Rows) bool) bool {
	if f.All() {
		return yield(r)
	}
	for from := r.from; ; {
		from = r.chunk.seek(f, from, r.to, true)
		if from == r.to {
			return true
		}
		to := r.chunk.seek(f, from, r.to, false)
		if !yield(r.chunk.rows(from, to)) {
			return false
		}
		from = to
	}
}

// seek returns the first row from row on and below to that matches or, if matching is false,
// that does not. It returns to if there is none. It looks at 64 rows at a time.
func (c *Chunk) seek(f *Filter, row, to int, matching bool) int {
	for row < to {
		w := c.unmatched(f, row/64)
		if matching {
			w = ^w
		}
		if w &= ^uint64(0) << (row % 64); w != 0 {
			return min(row&^63+bits.TrailingZeros64(w), to)
		}
		row = row&^63 + 64
	}
	return to
}

// unmatched returns which of 64 rows do not match.
func (c *Chunk) unmatched(f *Filter, word int) (w uint64) {
	for m := f.With | f.Without; m != 0; m &= m - 1 {
		i, have := bits.TrailingZeros8(uint8(m)), uint64(0)
		if c.flags != nil && c.flags.sets[i] != nil {
			have = c.flags.sets[i][word]
		}
		if f.With>>i&1 != 0 {
			w |= ^have
		}
		if f.Without>>i&1 != 0 {
			w |= have
		}
	}
	return w
}

// MatchingRows returns how many of the rows match.
func (t *Table) MatchingRows(f *Filter) int {
	n := t.Rows()
	if f.All() {
		return n
	}
	for _, c := range t.chunks[:t.cur.order+1] {
		for from := 0; from < c.n; from += 64 {
			w := c.unmatched(f, from/64)
			if rest := c.n - from; rest < 64 {
				w &= 1<<rest - 1
			}
			n -= bits.OnesCount64(w)
		}
	}
	return n
}

// SetFlags sets and clears flags of the atom at l, which must be here. The owner sees the
// change at once, others when PublishFlags is called.
func (s *Shard) SetFlags(l slots.Loc, set, cleared slots.Flags) {
	c, row := s.space.chunk(l), l.Row()
	c.setFlags(row, c.flagsAt(row)&^cleared|set)
	s.flagged = append(s.flagged, c.handles[row])
}

// PublishFlags publishes what SetFlags has changed. The atoms must not have left the shard
// since, because their new shards move their rows at the same time.
func (s *Shard) PublishFlags() {
	for _, h := range s.flagged {
		if l := s.space.Locate(h); l != 0 {
			s.space.PublishFlags(h, s.space.FlagsAt(l))
		}
	}
	s.flagged = s.flagged[:0]
}

// FlagsAt returns the flags of the atom at l. The caller must own its shard, or
// be in a step of the refresh in which nobody sets any.
func (s *Space) FlagsAt(l slots.Loc) slots.Flags { return s.chunk(l).flagsAt(l.Row()) }
