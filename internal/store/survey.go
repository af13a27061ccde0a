package store

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
)

// This file is for tools that hash, save or compare worlds. It shows everything that decides what
// happens next, in an order that depends neither on time nor on the number of workers. Its results
// must not be written, and are good until the world changes. Chunk numbers are left out: they are
// given in the order in which shards ask for them.

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
