package store

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
)

// Change moves the atom at l, which must be here, to the table of another component set, at once,
// and returns its new place. Components that are in both sets keep their values. New ones hold old
// contents of the row, and the caller must store them. A mark moves with the atom. After an error
// the atom is where it was.
func (s *Shard) Change(l slots.Loc, set Set) (Atom, error) {
	c, row := s.space.chunk(l), l.Row()
	if c.table.set == set {
		return Atom{Handle: c.handles[row], Chunk: c, Row: row}, nil
	}
	return c.change(row, c.handles[row], c.table.edgeTo(set))
}

// Overwrite stamps the fields as written in this tick, for a caller that stores new values in the
// row of an atom that had them before.
func (a Atom) Overwrite(fields []Field) {
	for i := range fields {
		a.Chunk.written[fields[i].column] = a.Chunk.table.shard.space.now
	}
}

// With is Change of the atom h, which is at l, to one component more. It returns the address at
// which the caller then stores the component. The atom may have had it before. The caller must own
// the atom's shard. After an error nothing has changed.
func (s *Space) With(h handle.Handle, l slots.Loc, component int) (to mem.Pointer, err error) {
	c, row := s.chunk(l), l.Row()
	t := c.table
	if t.set.Has(component) {
		at := t.set.rank(component)
		c.written[at] = s.now
		if t.columns[at].Watched() {
			t.shard.NoteStored(h, component)
		}
		return mem.Pointer{Address: c.bases[at]}.At(row, t.sizes[at]), nil
	}
	a, err := c.change(row, h, t.toggleEdge(component))
	if err != nil {
		return mem.Pointer{}, err
	}
	return mem.Pointer{Address: Value(a, component)}, nil
}

// Without is Change of the atom h, which is at l, to one component less. It returns false if the
// atom lacks that component. The caller must own the atom's shard. After an error nothing has
// changed.
func (s *Space) Without(h handle.Handle, l slots.Loc, component int) (had bool, err error) {
	c := s.chunk(l)
	if !c.table.set.Has(component) {
		return false, nil
	}
	_, err = c.change(l.Row(), h, c.table.toggleEdge(component))
	return true, err
}

// change moves the atom h in a row to the table that an edge leads to. After an error nothing has
// moved. Callers know h before they know the row, so that the processor need not wait for the row
// to find the slot.
func (c *Chunk) change(row int, h handle.Handle, e *edge) (Atom, error) {
	t := e.to
	if err := t.ensureRow(); err != nil {
		return Atom{}, err
	}
	to, at := t.push(h)
	if len(e.typed) == 0 && to.bare() && c.bare() { // moveRow, written out: the call takes as long
		t.shard.space.Slot(h).Loc = to.base + slots.Loc(at)
		copyColumns(to, at, c, row, e.plain)
	} else {
		to.moveRow(at, h, c, row, e)
	}
	if e.watched {
		t.shard.noteChanges(to, at, 1, c.table)
	}
	t.shard.cost += e.cost
	c.table.swapRemove(c, row)
	return Atom{Handle: h, Chunk: to, Row: at}, nil
}

// changeRun is change for the last rows of the table's last chunk, as many as fit in the present
// chunk of the other table. They keep their order, whatever flags, marks and hooks there are. After
// an error nothing has moved.
func (c *Chunk) changeRun(e *edge) error {
	t := e.to
	if err := t.ensureRow(); err != nil {
		return err
	}
	to, at := t.cur, t.cur.n
	n := min(c.n, to.Cap()-at) // not what is ready: a world that was loaded has other rows ready
	if c.noted {
		t.shard.settle()
	}
	to.ready(at + n)
	to.extend(n)
	to.moveRows(at, c, c.n-n, n, e)
	if e.watched {
		t.shard.noteChanges(to, at, n, c.table)
	}
	c.used = max(c.used, c.n)
	c.n -= n
	for i := 0; i < n && c.marked > 0; i++ {
		if c.isMarked(c.n + i) {
			to.mark(at + i)
			c.unmark(c.n + i)
		}
	}
	if c.n == 0 {
		c.emptied()
	}
	if c.table.wipes() {
		c.wipe(c.n, c.n+n)
	}
	return nil
}

// Clone returns a copy of each component of the atom at l that has a CloneBy, in the order of its
// table, for Copy. It returns nil if none has, and runs code of the user. The owner of the shard
// calls it.
func (s *Shard) Clone(l slots.Loc) (clones []mem.Address) {
	columns := s.space.chunk(l).table.columns
	for i, col := range columns {
		if col.clone == nil {
			continue
		}
		if clones == nil {
			clones = make([]mem.Address, len(columns))
		}
		clones[i] = col.of.New(1)
		col.clone(clones[i], col.rowAt(l))
	}
	return clones
}

// Copy makes an atom with the components of the one at l, which must be here, except for parts of
// mem.Single types. clones is what Clone has returned for it. The owner of the shard calls it.
// After an error there is no new atom.
func (s *Shard) Copy(l slots.Loc, clones []mem.Address) (handle.Handle, error) {
	t := s.space.chunk(l).table
	a, err := s.Create(t)
	if err != nil {
		return handle.None, err
	}
	s.migration.moves = append(s.migration.moves[:0], relocation{to: a.Loc(), from: l, n: 1})
	s.copyIn(t)
	for i, col := range t.columns {
		if clones != nil && clones[i] != nil {
			col.of.Copy(col.rowAt(a.Loc()), clones[i], 1)
		}
		if col.of.HasSingles() {
			col.of.ClearSingles(col.rowAt(a.Loc()), 1)
		}
	}
	a.Publish()
	return a.Handle, nil
}

// fewRows is the number of rows up to which rows are moved one by one: giving a chunk away costs as
// much as moving eight.
const fewRows = 32

// Retag moves all atoms of a table to that of another component set, at once
// and for the most part without touching them: chunks are taken over whole, with
// the columns that both tables have.
//
//	from  [full][full][part]                   [spare]
//	                                     ──▶
//	to    [full][part][spare]                  [full][full][full][part]
//
// For the chunks that it gets, the other table gives spare ones back, so chunks do not accumulate
// if rows always go the same way. Between tables whose largest chunks differ, because of large
// rows, rows are moved. added is called for the rows that have come. Their new components hold
// zeroes. The world must be idle. After an error the rows that have moved so far stay moved, and
// added was called for them.
func (t *Table) Retag(set Set, added func(Rows)) error {
	if set == t.set || t.Rows() == 0 {
		return nil
	}
	e := t.edgeTo(set)
	to := e.to
	if t.Rows() <= fewRows || to.growth != t.growth {
		return t.moveRest(e, added)
	}
	at, n := to.full(), t.full()
	rest := at // its chunks from here on are spare
	if at < len(to.chunks) && to.chunks[at].n > 0 {
		rest++ // it has a partly full chunk
	} else if n < len(t.chunks) && t.chunks[n].n > 0 {
		n++ // the other table can take our partly full chunk, too
	}
	spare := to.cut(max(rest, len(to.chunks)-n), t)
	moved := t.chunks[:n]
	if e.watched {
		for _, c := range moved {
			t.shard.noteChanges(c, 0, c.n, t)
		}
	}
	t.shard.space.retag(moved, to)
	to.chunks = slices.Insert(to.chunks, at, moved...)
	to.enter()
	t.chunks = append(slices.Delete(t.chunks, 0, n), spare...)
	to.renumber(at + n)
	t.renumber(1)
	to.releaseRests()
	t.releaseRests()
	to.noteSpare()
	t.noteSpare()
	runs := t.shard.retagging.runs
	for _, c := range to.chunks[at : at+n] {
		runs = append(runs, c.rows(0, c.n))
	}
	t.shard.retagging.runs = runs
	return t.moveRest(e, added)
}

// RetagNeeds returns how many chunks it can take at most to move n of the table's rows.
func (t *Table) RetagNeeds(set Set, n int) (chunks int) {
	if set == t.set {
		return 0
	}
	to := t.edgeTo(set).to
	if n == t.Rows() && n > fewRows && to.growth == t.growth { // whole chunks go, but for the last
		n = t.cur.n
	}
	for rows := to.nextCap(); n > 0; rows = to.growth.next(rows) {
		n -= rows
		chunks++
	}
	return chunks
}

// cut removes the chunks from a position on, which have no rows, for another table, and returns
// them. Only Retag calls it, on an idle world.
func (t *Table) cut(from int, to *Table) []*Chunk {
	sh := t.shard
	sh.retagging.cut = append(sh.retagging.cut, t.chunks[from:]...)
	t.chunks = slices.Delete(t.chunks, from, len(t.chunks))
	sh.space.retag(sh.retagging.cut, to)
	return sh.retagging.cut
}

// full returns the number of full chunks.
func (t *Table) full() int {
	if t.cur.n == t.cur.Cap() {
		return t.cur.order + 1 // of noChunk: 0
	}
	return t.cur.order
}

// renumber sets the chunks' positions, and cur. The first n chunks may have rows.
func (t *Table) renumber(n int) {
	first := 0
	t.cur = noChunk
	for i, c := range t.chunks {
		c.order, c.first = i, first
		first += c.Cap()
		if i < n || c.n > 0 {
			t.cur = c
		}
	}
}

// moveRest moves the rows that are left, in runs. It calls added for all rows that have come: for
// the shard's runs, and then for these. After an error the others stay where they were.
func (t *Table) moveRest(e *edge, added func(Rows)) (err error) {
	from := e.to.Rows()
	for err == nil && t.Rows() > 0 {
		err = t.last().changeRun(e)
	}
	e.to.initColumns(from, &t.set, added)
	return err
}

// RetagMatching is Retag for the first rows that match, but no more than most: they are moved one
// by one. The world must be idle. After an error the rows that have moved so far stay moved.
func (t *Table) RetagMatching(f *Filter, most int, set Set, added func(Rows)) error {
	if set == t.set {
		return nil
	}
	e := t.edgeTo(set)
	sh, to := t.shard, e.to
	t.head(f, most, func(r Rows) { sh.retagging.runs = append(sh.retagging.runs, r) })
	from := to.Rows()
	defer func() {
		sh.retagging.forget()
		to.initColumns(from, &t.set, added)
	}()
	for _, r := range slices.Backward(sh.retagging.runs) { // backwards, so that a row that fills a hole is not in a later run
		for row := r.to - 1; row >= r.from; row-- {
			if _, err := r.chunk.change(row, r.chunk.handles[row], e); err != nil {
				return err
			}
		}
	}
	return nil
}

// initColumns zeroes the new components of rows that have come from a table with other components:
// all rows after the first from. Then it calls added for the shard's runs and for these rows. It
// does so only when all rows have come, because added may create more, here and in the table that
// they came from, and may panic.
func (t *Table) initColumns(from int, had *Set, added func(Rows)) {
	sh := t.shard
	defer sh.retagging.forget()
	at := t.cur.order
	for at > 0 && t.chunks[at].first > from {
		at--
	}
	for _, c := range t.chunks[max(at, 0):] {
		low, high := max(from-c.first, 0), c.n
		if low >= high {
			continue
		}
		for i, id := range t.ids {
			if !had.Has(id) {
				c.zero(i, low, high)
			}
		}
		sh.retagging.runs = append(sh.retagging.runs, c.rows(low, high))
	}
	for _, r := range sh.retagging.runs {
		added(r)
	}
}

// retag gives chunks of one table to another table of their shard. They get the columns that are
// new to them, and drop those that the table lacks. The owner of the shard calls it, on an idle
// world; it takes the lock.
func (s *Space) retag(chunks []*Chunk, to *Table) {
	if len(chunks) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	from, before := chunks[0].table, 0
	for i, c := range chunks {
		s.mu.bases = append(s.mu.bases[:0], c.bases...)
		c.bases = c.bases[:0]
		rows, plan := c.Cap(), stripPlan{}
		if rows == to.growth.RowsMax {
			plan.parts = to.limitParts(len(chunks)-i, rows)
		}
		for k, id := range to.ids {
			if at := from.position(id); at >= 0 {
				c.bases = append(c.bases, s.mu.bases[at])
			} else {
				base := to.columns[k].add(c.number(), c.table.shard.id, rows, before, plan)
				to.columns[k].of.TouchPart(base, rows, 0, len(c.handles))
				c.bases = append(c.bases, base)
			}
		}
		clear(c.bases[len(c.bases):cap(c.bases)]) // columns that it drops
		before = c.number()
	}
	for _, c := range slices.Backward(chunks) { // backwards, so that the rows of the first chunk are used again first
		for i, id := range from.ids {
			if !to.set.Has(id) {
				from.columns[i].drop(c.number(), max(c.n, c.used))
				s.spare.Store(true)
			}
		}
	}
	clear(s.mu.bases)
	touched := false
	for _, c := range chunks {
		c.reserved = false
		s.dropFramed(c)
		c.table = to
		c.written = slices.Grow(c.written[:0], len(to.ids))[:len(to.ids)]
		c.stampAll(s.now)
		c.changed = s.now
		if c.touched {
			c.touched, touched = false, true
			to.touch(c)
		}
	}
	if touched {
		from.forgetDirty()
	}
}
