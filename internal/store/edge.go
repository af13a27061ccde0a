package store

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
)

// edge is the way of a row from one table to another with other components.
//
// Ownership: the shard's owner.
type edge struct {
	to      *Table
	watched bool         // rows that go this way are noted
	plain   []columnPair // the columns of both tables that may be copied as bytes
	typed   []columnPair // the other columns of both tables
}

type columnPair struct {
	from, to int // positions in the tables
	size     uintptr
}

// edgeTo returns the edge to the table of a component set, made when first
// asked for.
func (t *Table) edgeTo(set Set) *edge {
	for _, e := range t.edges {
		if e.to.set == set && !e.to.gone {
			return e
		}
	}
	if len(t.edges) >= t.edgesMax { // so that edges to tables that are gone do not pile up
		t.edges = slices.DeleteFunc(t.edges, func(e *edge) bool { return e.to.gone })
		t.edgesMax = max(8, 2*len(t.edges))
	}
	e := &edge{to: t.shard.Table(set), watched: t.shard.space.watch.changes(&t.set, &set)}
	for at, c := range t.ids {
		if to := e.to.position(c); to >= 0 {
			p := columnPair{from: at, to: to, size: t.sizes[at]}
			if t.plain[at] {
				e.plain = append(e.plain, p)
			} else {
				e.typed = append(e.typed, p)
			}
		}
	}
	t.edges = append(t.edges, e)
	return e
}

// toggleEdge returns the edge to the table with one component more, or if the table has
// it, one less.
func (t *Table) toggleEdge(component int) *edge {
	if component < len(t.toggleEdges) {
		if e := t.toggleEdges[component]; e != nil && !e.to.gone {
			return e
		}
	}
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

// position returns where a component is among the table's columns, or -1.
func (t *Table) position(component int) int {
	if !t.set.Has(component) {
		return -1
	}
	return t.set.rank(component)
}

// Change moves the atom at l, which must be here, to the table of another
// component set, at once, and returns its new place. Components that are in both sets keep
// their values. New ones hold whatever the row held before, and the caller must store them. A
// mark moves with the atom.
func (s *Shard) Change(l Loc, set Set) (Atom, error) {
	c, row := s.space.chunk(l), l.Row()
	if c.table.set == set {
		return Atom{Handle: c.handles[row], Chunk: c, Row: row}, nil
	}
	return c.moveRow(row, c.table.edgeTo(set))
}

// Overwrite stamps the fields as written in this tick, for a caller that stores them in the
// row of an atom that had them before.
func (a Atom) Overwrite(fields []Field) {
	for i := range fields {
		a.Chunk.written[fields[i].column] = a.Chunk.table.shard.space.now
	}
}

// With is Change to one component more, which the caller then stores. The atom may have it
// already. The caller must own the atom's shard.
func (s *Space) With(l Loc, component int) (Atom, error) {
	c, row := s.chunk(l), l.Row()
	if c.table.set.Has(component) {
		c.written[c.table.position(component)] = s.now
		return Atom{Handle: c.handles[row], Chunk: c, Row: row}, nil
	}
	return c.moveRow(row, c.table.toggleEdge(component))
}

// Without is Change to one component less. It returns false if the atom lacks that component.
// The caller must own the atom's shard.
func (s *Space) Without(l Loc, component int) (had bool, err error) {
	c := s.chunk(l)
	if !c.table.set.Has(component) {
		return false, nil
	}
	_, err = c.moveRow(l.Row(), c.table.toggleEdge(component))
	return true, err
}

// moveRow moves a row to another table.
func (c *Chunk) moveRow(row int, e *edge) (Atom, error) {
	t := e.to
	if !t.hasRow() {
		if err := t.ensureRow(); err != nil {
			return Atom{}, err
		}
	}
	space, to, at, h := t.shard.space, t.cur, t.cur.n, c.handles[row]
	to.handles[at] = h
	to.n = at + 1
	to.changed = space.now
	l := to.base + Loc(at)
	space.slot(h).loc = l
	for i := range e.plain {
		p := &e.plain[i]
		copyRow(to.bases[p.to], at, c.bases[p.from], row, p.size)
	}
	for _, p := range e.typed {
		t.columns[p.to].copy(l, c.base+Loc(row))
	}
	to.carryFlags(at, c, row)
	if c.isMarked(row) {
		to.mark(at)
		c.unmark(row)
	}
	if e.watched {
		t.shard.logChange(h, c.table)
	}
	c.table.swapRemove(c, row)
	return Atom{Handle: h, Chunk: to, Row: at}, nil
}

// moveRows is moveRow for the last rows of the table's last chunk, as many as fit in one
// run of the other table; nothing may be marked or flagged there. The rows
// keep their order.
func (c *Chunk) moveRows(e *edge) error {
	t := e.to
	if !t.hasRow() {
		if err := t.ensureRow(); err != nil {
			return err
		}
	}
	to, at := t.cur, t.cur.n
	n := min(c.n, len(to.handles)-at)
	from := c.n - n
	for i := range e.plain {
		p := &e.plain[i]
		copyRows(to.bases[p.to], at, c.bases[p.from], from, n, p.size)
	}
	for _, p := range e.typed {
		for i := range Loc(n) {
			t.columns[p.to].copy(to.base+Loc(at)+i, c.base+Loc(from)+i)
		}
	}
	copy(to.handles[at:], c.handles[from:c.n])
	to.n += n
	to.located(at, to.n)
	to.changed = t.shard.space.now
	c.used = max(c.used, c.n)
	c.n = from
	if from == 0 {
		c.emptied()
	}
	if c.table.pointers || check.Enabled {
		for _, col := range c.table.columns {
			col.wipe(c.number(), from, from+n)
		}
	}
	return nil
}

// emptied notes that the last row has left the chunk.
func (c *Chunk) emptied() {
	c.changed, c.reserved = c.table.shard.space.now, false
	c.table.noteSpare()
}

// clean reports whether no row of the chunk is marked or has flags.
func (c *Chunk) clean() bool { return c.marked == 0 && c.flags.none() }

// swapRemove fills the hole of a row that has left with the last row of the table.
func (t *Table) swapRemove(c *Chunk, row int) {
	c.dropFlags(row)
	last := t.last()
	last.used = max(last.used, last.n)
	last.n--
	if last != c || last.n != row {
		h := last.handles[last.n]
		c.handles[row] = h
		c.changed = t.shard.space.now
		t.shard.space.slot(h).loc = c.base + Loc(row)
		t.copyAtom(c, row, last, last.n)
		c.carryFlags(row, last, last.n)
		if last.isMarked(last.n) {
			last.unmark(last.n)
			c.mark(row)
		}
	}
	if last.n == 0 {
		last.emptied()
	}
	if t.pointers || check.Enabled {
		for _, col := range t.columns {
			col.wipe(last.number(), last.n, last.n+1)
		}
	}
}

// Copy makes an atom with the components of the one at l, which must be here.
func (s *Shard) Copy(l Loc) (handle.Handle, error) {
	c, row := s.space.chunk(l), l.Row()
	a, err := s.Create(c.table)
	if err != nil {
		return handle.None, err
	}
	c.table.copyAtom(a.Chunk, a.Row, c, row)
	a.Publish()
	return a.Handle, nil
}

// copyAtom copies all components of a row.
func (t *Table) copyAtom(to *Chunk, toRow int, from *Chunk, fromRow int) {
	for i, col := range t.columns {
		if t.plain[i] {
			copyRow(to.bases[i], toRow, from.bases[i], fromRow, t.sizes[i])
		} else {
			col.copy(to.base+Loc(toRow), from.base+Loc(fromRow))
		}
	}
}
