package store

import (
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
)

// This file is for atoms that come from another world, by callers that do not know the types.

// TypeOf returns the type of a component's values.
func (s *Space) TypeOf(component int) *mem.Type { return s.Columns[component].of }

// Values makes room for n values of a component.
func (s *Space) Values(component, n int) mem.Cells { return s.Columns[component].of.NewCells(n) }

// CopyValue copies a value of a component, with the function of CloneBy if there is one. Cloned
// reports that.
func (s *Space) CopyValue(component int, to, from mem.Address) {
	s.Columns[component].copyRows(to, from, 1)
}

// Cloned reports whether a component has a CloneBy.
func (s *Space) Cloned(component int) bool { return s.Columns[component].clone != nil }

// CopyValues copies n rows of the i-th component, from a row on, to values from index at on. It
// uses the function of CloneBy if there is one, else assignment.
func (c *Chunk) CopyValues(i int, to mem.Cells, at, row, n int) {
	c.table.columns[i].copyValues(to, at, c.number(), row, n)
}

// PutValues stores values, from index at on, in the i-th component of the rows.
func (r Rows) PutValues(i int, from mem.Cells, at int) {
	r.chunk.table.columns[i].putValues(r.chunk.number(), r.from, from, at, r.Len())
}

// SetFlags gives flags to an atom that has none, and publishes them.
func (r Rows) SetFlags(i int, f slots.Flags) {
	r.chunk.setFlags(r.from+i, f)
	r.chunk.table.shard.space.PublishFlags(r.Handle(i), f)
}

// At returns the chunk and row at l. The caller must own its shard.
func (s *Space) At(l slots.Loc) (c *Chunk, row int) { return s.chunk(l), l.Row() }

// Order returns the chunk's position in its table.
func (c *Chunk) Order() int { return c.order }

// FlagsAt returns the flags of a row.
func (c *Chunk) FlagsAt(row int) slots.Flags { return c.flagsAt(row) }

// ChunksFor returns how many more chunks the shard needs for n more atoms with these components, if
// Prepare makes them.
func (s *Shard) ChunksFor(set Set, n int) (chunks int) {
	g, room, last := s.space.growthOf(set), 0, 0
	if t := s.bySet[set]; t != nil {
		for _, c := range t.chunks[max(t.cur.order, 0):] {
			room += c.Cap() - c.n
			last = c.Cap()
		}
	}
	for room < n {
		next := g.RowsFirst
		if last > 0 {
			next = g.next(last)
		}
		last = max(g.holding(n-room), next)
		room += last
		chunks++
	}
	return chunks
}

// ChunksLeft returns how many more chunks the world may have.
func (s *Space) ChunksLeft() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slots.ChunksMax - s.mu.chunks + len(s.mu.vacant)
}
