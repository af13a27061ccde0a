package store

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/slots"
)

// Loc returns where the atom in row i is. It panics if there is no such row. It is small
// enough to be inlined.
func (r Rows) Loc(i int) slots.Loc {
	if check.Enabled {
		r.mustBeGood()
	}
	if uint(i) >= uint(r.to-r.from) {
		panic("world: Chunk.Loc of a row that the Chunk does not have; the rows are 0 to Len()-1")
	}
	return r.chunk.base + slots.Loc(r.from+i)
}

// Cap returns the number of rows that the chunk of this run can hold.
func (r Rows) Cap() int {
	if check.Enabled {
		r.mustBeGood()
	}
	return r.chunk.Cap()
}

// Contains reports whether the atom of h is in one of the rows. It costs one look-up of an
// entity, however many rows there are.
func (r Rows) Contains(h handle.Handle) bool {
	if check.Enabled {
		r.mustBeGood()
	}
	l := r.chunk.table.shard.space.Locate(h)
	return l>>slots.RowBits == r.chunk.base>>slots.RowBits && l.Row() >= r.from && l.Row() < r.to
}

// RowAt returns a view of the i-th of the rows that match. There must be more than i.
func (t *Table) RowAt(i int, f *Filter) (at Rows) {
	more := func(r Rows) bool {
		if i < r.Len() {
			at = r.chunk.rows(r.from+i, r.from+i+1)
			return false
		}
		i -= r.Len()
		return true
	}
	for k, left := 0, t.Rows(); left > 0; k++ {
		run := t.Run(k, left)
		left -= run.Len()
		if !run.Matching(f, more) {
			break
		}
	}
	return at
}

// Shard returns the shard the table belongs to.
func (t *Table) Shard() *Shard { return t.shard }

// Marked returns the number of marked rows.
func (t *Table) Marked() int {
	n := 0
	for _, c := range t.chunks {
		n += c.marked
	}
	return n
}

// ValueAt returns a copy of a component of the atom at l, or nil if it lacks it. The
// caller may read the row.
func ValueAt(c *Column, l slots.Loc) any { return c.value(l) }
