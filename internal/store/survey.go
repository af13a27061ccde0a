package store

import (
	"encoding/binary"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
)

// This file is for tools that hash, save or compare worlds. It shows everything that decides what
// happens next, in an order that depends neither on time nor on the number of workers. Its results
// must not be written, and are good until the world changes. Chunk numbers are left out: they are
// given in the order in which shards ask for them.

// AppendSpare appends the state that decides when the table gives back chunks, when it leaves the
// list, and whether its small chunks are to be coalesced, now or when the next row comes.
func (t *Table) AppendSpare(dst []byte) []byte {
	number := func(n uint32) { dst = binary.LittleEndian.AppendUint32(dst, n) }
	is := func(x bool) {
		if x {
			number(1)
		} else {
			number(0)
		}
	}
	is(t.listed)
	is(t.fragmented)
	number(uint32(t.cur.order + 1))
	if len(t.chunks) == 0 {
		number(t.left)
	}
	for _, c := range t.chunks[t.used():] {
		number(c.changed)
		is(c.reserved)
	}
	return dst
}

// Components returns the numbers of the table's components, ascending.
func (t *Table) Components() []int { return t.ids }

// Chunks returns the table's chunks in order: rows are in the first ones, without
// a hole; those behind are empty.
func (t *Table) Chunks() []*Chunk { return t.chunks }

// Handles returns the handles of the atoms, by row.
func (c *Chunk) Handles() []handle.Handle { return c.handles[:c.n:c.n] }

// Cells returns the rows of the i-th component of the chunk's table.
func (c *Chunk) Cells(i int) mem.Cells {
	col := c.table.columns[i]
	return col.of.Cells(col.row(c.number(), 0), c.n)
}

// CellsFrom returns n rows of the i-th component, from a row on, without Bytes and Values. There
// must be so many. It allocates nothing.
func (c *Chunk) CellsFrom(i, row, n int) mem.Cells {
	col := c.table.columns[i]
	return col.of.Run(col.row(c.number(), row), n)
}

// Bytes returns the memory of the rows of the i-th component, whose type has no pointers. It
// allocates nothing.
func (c *Chunk) Bytes(i int) []byte {
	col := c.table.columns[i]
	return col.of.Bytes(col.row(c.number(), 0), c.n)
}

// Stamps returns the tick in which a row last came or was replaced, and for each
// component that in which it was last handed out for writing.
func (c *Chunk) Stamps() (changed uint32, written []uint32) { return c.changed, c.written }

// Marks returns which rows are marked, a bit for each, or nil for none.
func (c *Chunk) Marks() []uint64 {
	if c.marked == 0 {
		return nil
	}
	return c.marks
}

// Flagged returns which rows have a flag, a bit for each, or nil for none.
func (c *Chunk) Flagged(flag int) []uint64 {
	if c.flags.none() {
		return nil
	}
	return c.flags.sets[flag]
}

// AppendMarks appends the order in which tables, and the chunks of each, first got marked
// rows. Slots become free in an order that follows from it.
func (s *Shard) AppendMarks(dst []byte) []byte {
	number := func(n int) { dst = binary.LittleEndian.AppendUint32(dst, uint32(n)) }
	for _, t := range s.dirty {
		number(slices.Index(s.tables, t))
		number(len(t.dirty))
		for _, c := range t.dirty {
			number(c.order)
		}
	}
	return dst
}

// AppendChanges appends the changes that hooks were not notified of yet, in order, or nothing if
// there are none.
func (s *Shard) AppendChanges(dst []byte) []byte {
	if s.Noted() == 0 {
		return dst
	}
	number := func(n uint64) { dst = binary.LittleEndian.AppendUint64(dst, n) }
	if s.space.moves != s.space.gathered {
		number(1)
	}
	number(uint64(len(s.tally.fresh) + rowsOf(s.tally.runs)))
	for _, h := range s.tally.fresh {
		number(uint64(h))
	}
	for i := range s.tally.runs {
		for _, h := range s.tally.runs[i].handles() {
			number(uint64(h))
		}
	}
	changed := func(h handle.Handle, moves uint32, from *Table) {
		number(uint64(h))
		number(uint64(s.space.moves - moves))
		for _, word := range from.set {
			number(word)
		}
	}
	number(uint64(len(s.changes.changes) + rowsOf(s.changes.runs)))
	for _, x := range s.changes.changes {
		changed(x.handle, x.moves, x.from)
	}
	for i := range s.changes.runs {
		x := &s.changes.runs[i]
		for _, h := range x.handles() {
			changed(h, x.moves, x.had)
		}
	}
	for _, x := range s.changes.stored {
		number(uint64(x.handle))
		number(uint64(x.component))
	}
	return dst
}
