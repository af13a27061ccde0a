package store

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/slots"
)

// edge moves rows from one table to another, mostly one with other components.
//
// Ownership: the shard's owner.
type edge struct {
	to      *Table
	cost    uint64       // see Shard.Cost: the size of the rows that it moves, or 0 if they are small
	watched bool         // the rows that it moves are recorded
	plain   []columnPair // the columns of both tables that may be copied as bytes
	typed   []columnPair // the other columns of both tables
}

type columnPair struct {
	from, to int // positions in the tables
	size     uintptr
}

// edgeTo returns the edge to the table of a component set, made on the first call. The owner of the
// shard calls it.
func (t *Table) edgeTo(set Set) *edge {
	for _, e := range t.edges {
		if e.to.set == set && !e.to.gone {
			return e
		}
	}
	if len(t.edges) >= t.edgesMax { // otherwise edges to tables that are gone would accumulate
		t.edges = slices.DeleteFunc(t.edges, func(e *edge) bool { return e.to.gone })
		t.edgesMax = max(8, 2*len(t.edges))
	}
	e := t.newEdge(t.shard.Table(set))
	t.edges = append(t.edges, &e)
	return &e
}

// newEdge makes the edge to a table of the same shard: it lists the columns that both have.
func (t *Table) newEdge(to *Table) edge {
	e := edge{to: to, watched: t.shard.space.watch.changes(&t.set, &to.set)}
	for at, c := range t.ids {
		if to := to.position(c); to >= 0 {
			p := columnPair{from: at, to: to, size: t.sizes[at]}
			if t.plain[at] {
				e.plain = append(e.plain, p)
			} else {
				e.typed = append(e.typed, p)
			}
		}
	}
	if n := t.rowBytes; n >= rowBytesMin {
		e.cost = n
	}
	return e
}

// toggleEdge returns the edge to the table with one component more or, if the table has the
// component, with one less.
func (t *Table) toggleEdge(component int) *edge {
	if component < len(t.toggleEdges) {
		if e := t.toggleEdges[component]; e != nil && !e.to.gone {
			return e
		}
	}
	return t.newToggleEdge(component)
}

// newToggleEdge is a function of its own so that toggleEdge inlines.
func (t *Table) newToggleEdge(component int) *edge {
	set := t.set
	if set.Has(component) {
		set.Remove(component)
	} else {
		set.Add(component)
	}
	if component >= len(t.toggleEdges) {
		t.toggleEdges = append(t.toggleEdges, make([]*edge, component+1-len(t.toggleEdges))...)
	}
	t.toggleEdges[component] = t.edgeTo(set)
	return t.toggleEdges[component]
}

// place puts an atom in a row, and the location of the row in the atom's slot, which l finds. It is
// small enough to be inlined.
func (c *Chunk) place(row int, h handle.Handle, l *slots.Lookup) {
	c.handles[row] = h
	l.Slot(h).Loc = c.base + slots.Loc(row)
}

// moveRow moves the atom h in a row of another chunk to a row of this one, by the edge between
// their tables: handle, components, flags and mark. The caller frees the old row.
func (c *Chunk) moveRow(at int, h handle.Handle, from *Chunk, row int, e *edge) {
	c.place(at, h, &e.to.shard.space.Lookup)
	copyColumns(c, at, from, row, e.plain)
	for _, p := range e.typed {
		e.to.columns[p.to].copy(c.base+slots.Loc(at), from.base+slots.Loc(row))
	}
	if c.flags != nil || from.flags != nil {
		c.carryFlags(at, from, row)
	}
	if from.isMarked(row) {
		c.mark(at)
		from.unmark(row)
	}
}

// moveRows is moveRow for n adjacent rows; none may be marked. The rows keep their order. Within a
// chunk they may move up, over themselves.
func (c *Chunk) moveRows(at int, from *Chunk, row, n int, e *edge) {
	for i := range e.plain {
		p := &e.plain[i]
		copyRows(c.bases[p.to], at, from.bases[p.from], row, n, p.size)
	}
	for _, p := range e.typed {
		for i := n - 1; i >= 0; i-- {
			e.to.columns[p.to].copy(c.base+slots.Loc(at+i), from.base+slots.Loc(row+i))
		}
	}
	handles, l, space := c.handles[at:at+n], c.base+slots.Loc(at), c.table.shard.space
	copy(handles, from.handles[row:])
	for i, h := range handles {
		space.Slot(h).Loc = l + slots.Loc(i)
	}
	if c.flags != nil || from.flags != nil {
		for i := n - 1; i >= 0; i-- {
			c.carryFlags(at+i, from, row+i)
		}
	}
}

// emptied notes that the last row has left the chunk.
func (c *Chunk) emptied() {
	c.changed, c.reserved = c.table.shard.space.now, false
	c.table.noteSpare()
}

// bare reports whether the chunk has nothing but handles and columns: no row is marked, none ever
// had flags.
func (c *Chunk) bare() bool { return c.flags == nil && c.marked == 0 }

// swapRemove fills the hole of a row that has left with the last row of the table. The owner of the
// shard calls it, when it moves a row to another table or, on an idle world, to another shard.
func (t *Table) swapRemove(c *Chunk, row int) {
	c.dropFlags(row)
	last := t.last()
	if c.noted || last.noted {
		t.shard.settle()
	}
	last.used = max(last.used, last.n)
	last.n--
	if last != c || last.n != row {
		c.changed = t.shard.space.now
		if h := last.handles[last.n]; !t.pointers && c.bare() && last.bare() { // as in change
			c.place(row, h, &t.shard.space.Lookup)
			copyColumns(c, row, last, last.n, t.same.plain)
		} else {
			c.moveRow(row, h, last, last.n, &t.same)
		}
	}
	if last.n == 0 {
		last.emptied()
	}
	if t.wipes() {
		last.wipe(last.n, last.n+1)
	}
}
