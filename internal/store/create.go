package store

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
)

// Create takes a handle and a row in the table. The owner of the shard calls it, stores the
// components, and then calls Publish. After an error no handle and no row is taken.
func (s *Shard) Create(t *Table) (Atom, error) {
	if !s.hasRoom(t) {
		if err := s.makeRoom(t, 1); err != nil {
			return Atom{}, err
		}
	}
	h, _ := s.Next(s.Pop())
	return s.atom(t, h), nil
}

// CreatePlain is Create, StorePlain and Publish in one, because servers do these most often. What
// is seldom needed is in calls that come last, so that the rest keeps its values in registers. v
// may be on the stack. After an error nothing is created.
func (s *Shard) CreatePlain(t *Table, fields *Fields, v mem.Address) (handle.Handle, error) {
	if !s.hasRoom(t) {
		return s.createWithRoom(t, fields, v)
	}
	t.cur.storeNext(fields, v)
	h, slot := s.Next(s.Pop())
	c, row := t.push(h)
	slot.Loc = c.base + slots.Loc(row)
	slot.Store(s.tally.create(h, c, row)) // publishes loc and the row
	return h, nil
}

// createWithRoom is CreatePlain after it has made room. If there is none it returns the error, and
// has created nothing.
func (s *Shard) createWithRoom(t *Table, fields *Fields, v mem.Address) (handle.Handle, error) {
	if err := s.makeRoom(t, 1); err != nil {
		return handle.None, err
	}
	return s.CreatePlain(t, fields, v)
}

// hasRoom reports whether there is a free index and a free row.
func (s *Shard) hasRoom(t *Table) bool {
	return s.Free() > 0 && t.cur.n < len(t.cur.handles) && t.lastLoop == s.Loop
}

// makeRoom makes hasRoom true. want is how many handles the caller will take soon. After an error
// no handle and no row is taken; slots that it has made stay for later creates.
func (s *Shard) makeRoom(t *Table, want int) error {
	if s.Free() == 0 {
		if err := s.Refill(want); err != nil {
			return err
		}
	}
	return t.ensureRow()
}

// atom takes the next row, which is ready, for the handle h, and counts the atom.
func (s *Shard) atom(t *Table, h handle.Handle) Atom {
	c, row := t.push(h)
	return Atom{h, c, row, s.tally.create(h, c, row)}
}

// Adopt takes a row for a pending handle of any home. The caller stores the components and then
// calls Publish. The owner of the shard calls it in the step create. After an error the handle is
// still pending, and the caller decides what becomes of it.
func (s *Shard) Adopt(t *Table, h handle.Handle) (Atom, error) {
	if err := t.ensureRow(); err != nil {
		return Atom{}, err
	}
	a := s.atom(t, h)
	a.generation ^= s.applying.staged
	return a, nil
}

// Prepare makes room for n atoms that are about to be created in a table, and for their slots. The
// owner of the shard calls it. After an error no atom exists; room that was made stays.
func (s *Shard) Prepare(t *Table, n int) error {
	if n <= s.Free() && n <= t.cur.Cap()-t.cur.n {
		return nil
	}
	if err := s.ReserveSlots(n); err != nil {
		return err
	}
	return t.reserve(n)
}

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

// Reserve is Prepare for atoms that may come at any time: the room stays until they do, whatever
// chunks refreshes give up before. The owner of the shard calls it. After an error, room that was
// made stays.
func (s *Shard) Reserve(t *Table, n int) error {
	if n == 0 {
		return nil
	}
	if err := s.ReserveSlots(n); err != nil {
		return err
	}
	return t.reserveLasting(n)
}

// CreateRows takes handles and rows in the table, as many as fit in one run but at most n. The rows
// hold zeroes. If alive is set, the atoms are alive at once; otherwise the caller stores the
// components and then calls PublishRows. The owner of the shard calls it. After an error it has
// created nothing.
func (s *Shard) CreateRows(t *Table, n int, alive bool) (Rows, error) {
	if !s.hasRoom(t) {
		if err := s.makeRoom(t, n); err != nil {
			return Rows{}, err
		}
	}
	c, from := t.cur, t.cur.n
	n = min(n, s.Free(), c.Cap()-from)
	c.ready(from + n)
	if from < c.used {
		c.clear(from, min(from+n, c.used))
	}
	indexes := s.PopN(n)
	l, handles, staging := c.base+slots.Loc(from), c.extend(n), s.tally.staging
	for i := range handles {
		h, slot := s.Next(indexes[n-1-i])
		handles[i] = h
		slot.Loc = l + slots.Loc(i)
		if alive {
			slot.StoreBatched(uint32(h) ^ staging) // publishes loc and the row
		}
	}
	s.tally.createAll(handles, c, from)
	return c.rows(from, from+n), nil
}

// PublishRows makes the atoms of rows alive to all goroutines. The owner of the shard calls it,
// once.
func (s *Shard) PublishRows(r Rows) {
	staging := s.tally.staging
	for _, h := range r.Handles() {
		s.space.Slot(h).StoreBatched(uint32(h) ^ staging) // publishes loc and the row
	}
}

// AdoptManyPlain stores the atoms of many creates, whose payloads are bundles without pointers, and
// decides their outcomes. It refuses the creates that find no room. The owner of the shard calls it
// in the step create.
//
// Safety: as for AdoptPlain.
func AdoptManyPlain(s *Shard, t *Table, fields []Field, creates queue.PendingRequest) {
	handles, values, size := creates.Handles(), s.space.Registry.Values(creates), s.space.Registry.TypeOf(creates.Kind()).Size
	for at := 0; at < len(handles); {
		if t.ensureRow() != nil {
			s.refuseMany(creates, at)
			return
		}
		c := t.cur
		n := min(len(handles)-at, len(c.handles)-c.n, adoptAtOnce)
		s.adoptMany(c, fields, handles[at:at+n], values.At(at, size).Address, size)
		at += n
	}
}

// refuseMany refuses the creates from index at on, and frees their handles.
func (s *Shard) refuseMany(creates queue.PendingRequest, at int) {
	for i, h := range creates.Handles()[at:] {
		s.DeferFree(h)
		s.DecideOne(creates, at+i, queue.Refused)
	}
}

// AdoptMany is AdoptManyPlain for bundles with pointers: put stores the components of atom i and
// makes it alive. put runs on the same goroutine.
func (s *Shard) AdoptMany(t *Table, creates queue.PendingRequest, put func(a Atom, i int)) {
	for i, h := range creates.Handles() {
		a, err := s.Adopt(t, h)
		if err != nil {
			s.refuseMany(creates, i)
			return
		}
		put(a, i)
		s.DecideOne(creates, i, queue.Applied)
	}
}

// adoptAtOnce is how many atoms AdoptPlain stores at a time, column by column: their payloads
// then stay in the first-level cache.
const adoptAtOnce = 64

// AdoptPlain stores the atoms of creates, whose payloads are bundles without pointers, and decides
// their outcomes. It refuses the creates that find no room. The owner of the shard calls it in the
// step create.
//
// Safety: as for StorePlain; a pending handle has a slot.
func AdoptPlain(s *Shard, t *Table, fields []Field, creates []queue.PendingRequest) {
	for len(creates) > 0 {
		if t.ensureRow() != nil {
			for _, r := range creates {
				s.DecideCreate(r, queue.Refused)
			}
			return
		}
		c := t.cur
		n := min(len(creates), len(c.handles)-c.n, adoptAtOnce)
		s.adopt(c, fields, creates[:n])
		creates = creates[n:]
	}
}
