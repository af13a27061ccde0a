package shard

import "github.com/atoll-sim/atoll/handle"

// CreateRows takes handles and rows in the table, as many as fit in one run and
// n at the most. The rows hold zeroes. The caller stores the components and then
// calls PublishRows.
func (s *Shard) CreateRows(t *Table, n int) (Rows, error) {
	if len(s.free) == 0 || !t.settled() {
		if err := s.prepare(t, n); err != nil {
			return Rows{}, err
		}
	}
	c, from := t.cur, t.cur.n
	n = min(n, len(s.free), len(c.handles)-from)
	rest := len(s.free) - n
	l := c.base + Loc(from)
	for i, row := rest+n-1, from; i >= rest; i, row = i-1, row+1 {
		h := compose(s.Home.id, s.free[i], 0)
		slot := s.lookup.slot(h)
		h |= handle.Handle(slot.gen & versionMask) // its one writer is this goroutine
		c.handles[row] = h
		slot.loc = l
		l++
	}
	s.free = s.free[:rest]
	c.n += n
	c.changed = s.space.now
	s.record.createAll(c.handles[from:c.n])
	rows := Rows{c, c.number(), from, from + n}
	if from < c.used {
		c.clear(from, min(rows.to, c.used))
	}
	return rows, nil
}

// Atom returns the atom in row i.
func (r Rows) Atom(i int) Atom {
	return Atom{Handle: r.Handle(i), Chunk: r.chunk, Row: r.from + i}
}

// PublishRows makes the atoms of rows alive to everyone.
func (s *Shard) PublishRows(r Rows) {
	for _, h := range r.Handles() {
		s.lookup.slot(h).store(uint32(h)) // publishes loc and the row
	}
}

// MarkTable marks every atom of a table and returns how many were not marked
// yet.
func (t *Table) MarkTable() int {
	n := 0
	for _, c := range t.chunks[:t.cur.order+1] {
		n += c.markAll()
	}
	return n
}
