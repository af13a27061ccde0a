package store

import (
	"bytes"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
)

// Diff is the difference between two frames of one world.
type Diff struct {
	Created   []handle.Handle
	Destroyed []handle.Handle
	Retyped   []handle.Handle
	Changed   [ComponentsMax][]handle.Handle // by component
}

// Diff finds the differences from an earlier frame. was and is find where the entities are in the
// frames. It looks only at the rows of chunks whose copies the frames do not share.
func (f *Frame) Diff(d *Diff, before *Frame, components *Set, was, is *slots.Lookup) {
	for _, s := range f.Shards {
		for _, t := range s.tables {
			for _, c := range t.chunks {
				old := before.chunkAt(c.number())
				if sameRows(c, old) && old.table.set == t.set {
					d.columns(c, old, components)
				} else {
					d.rows(c, before, components, was)
				}
			}
		}
	}
	for _, s := range before.Shards {
		for _, t := range s.tables {
			for _, c := range t.chunks {
				if sameRows(c, f.chunkAt(c.number())) {
					continue
				}
				for _, h := range c.handles {
					if !is.Alive(h) {
						d.Destroyed = append(d.Destroyed, h)
					}
				}
			}
		}
	}
}

// columns compares two chunks with the same entities and components. Both frames have the
// components that are asked for: other columns have no rows.
func (d *Diff) columns(c, old *Chunk, components *Set) {
	for at, id := range c.table.ids {
		now, before := c.table.columns[at], old.table.columns[at]
		if !components.Has(id) || now.address(c.number()) == before.address(c.number()) {
			continue
		}
		for row, h := range c.handles {
			if l := c.base + slots.Loc(row); !now.same(l, before, l) {
				d.Changed[id] = append(d.Changed[id], h)
			}
		}
	}
}

// rows compares each entity of a chunk with its former state.
func (d *Diff) rows(c *Chunk, before *Frame, components *Set, was *slots.Lookup) {
	for row, h := range c.handles {
		l := was.Locate(h)
		if l == 0 {
			d.Created = append(d.Created, h)
			continue
		}
		old := before.Space.chunk(l).table
		if old.set != c.table.set {
			d.Retyped = append(d.Retyped, h)
		}
		for at, id := range c.table.ids {
			if components.Has(id) && old.set.Has(id) && !c.table.columns[at].same(c.base+slots.Loc(row), old.columns[old.position(id)], l) {
				d.Changed[id] = append(d.Changed[id], h)
			}
		}
	}
}

// address returns the address of a chunk's first row, in a frame's column.
func (c *Column) address(number int) mem.Address { return c.dir.Load().rows[number].first }

// same reports whether a row is known to hold the same value as one in another frame's column.
func (c *Column) same(l slots.Loc, in *Column, at slots.Loc) bool {
	a, b := c.At(l), in.At(at)
	switch {
	case a == nil || b == nil:
		return a == b
	case c.of.Plain:
		return bytes.Equal(c.of.Bytes(a, 1), c.of.Bytes(b, 1))
	case c.clone == nil && c.of.Of.Comparable():
		return c.of.Value(a) == c.of.Value(b)
	}
	return false
}
