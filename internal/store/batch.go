package store

import (
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
)

// CreateRows takes handles and rows in the table, as many as fit in one run but at most n.
// The rows hold zeroes. If alive is set, the atoms are alive at once; otherwise the caller
// stores the components and then calls PublishRows.
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

// Atom returns the atom in row i.
func (r Rows) Atom(i int) Atom {
	return Atom{Handle: r.Handle(i), Chunk: r.chunk, Row: r.from + i}
}

// PublishRows makes the atoms of rows alive to all goroutines.
func (s *Shard) PublishRows(r Rows) {
	staging := s.tally.staging
	for _, h := range r.Handles() {
		s.space.Slot(h).StoreBatched(uint32(h) ^ staging) // publishes loc and the row
	}
}

// MarkMatching marks the atoms of the first rows that match, but no more than most. It returns how
// many rows those are, and how many of them were not marked before.
func (t *Table) MarkMatching(f *Filter, most int) (met, fresh int) {
	if met = t.MatchingRows(f); met <= most && met == t.Rows() {
		for _, c := range t.chunks[:t.cur.order+1] {
			fresh += c.markAll()
		}
		return met, fresh
	}
	return min(met, most), t.markHead(f, most)
}

func (t *Table) markHead(f *Filter, most int) (fresh int) {
	t.head(f, most, func(r Rows) {
		for row := r.from; row < r.to; row++ {
			if r.chunk.mark(row) {
				fresh++
			}
		}
	})
	return fresh
}

// head calls do with the first rows that match, but no more than most.
func (t *Table) head(f *Filter, most int, do func(Rows)) {
	for i, left := 0, t.Rows(); left > 0 && most > 0; i++ {
		run := t.Run(i, left)
		left -= run.Len()
		run.Matching(f, func(r Rows) bool {
			r = r.Head(min(most, r.Len()))
			most -= r.Len()
			do(r)
			return most > 0
		})
	}
}

// Field is a component's place in a bundle, which is a struct of components.
type Field struct {
	Component int
	Offset    uintptr

	column int // position in the table
	size   uintptr
	of     *mem.Type // nil if it has no pointers
}

// isPair reports whether the field has no pointers and 16 bytes, the commonest: two numbers.
func (f *Field) isPair() bool { return f.of == nil && f.size == 16 }

// Fields are a bundle's fields in one table.
type Fields struct {
	All           []Field // the pairs, then the others
	pairs, others []Field
	end           uintptr // where the last one ends in the bundle
}

func newFields(all []Field) Fields {
	pairs, others := make([]Field, 0, len(all)), []Field(nil)
	end := uintptr(0)
	for i := range all {
		if f := &all[i]; f.isPair() {
			pairs = append(pairs, *f)
		} else {
			others = append(others, *f)
		}
		end = max(end, all[i].Offset+all[i].size)
	}
	n := len(pairs)
	all = append(pairs, others...)
	return Fields{all, all[:n:n], all[n:], end}
}

// AdoptManyPlain stores the atoms of many creates with bundles without pointers as payloads, and
// decides their outcomes.
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

// refuseMany refuses the creates from index at on.
func (s *Shard) refuseMany(creates queue.PendingRequest, at int) {
	for i, h := range creates.Handles()[at:] {
		s.DeferFree(h)
		s.DecideOne(creates, at+i, queue.Refused)
	}
}

// AdoptMany is AdoptManyPlain for bundles with pointers: put stores the components of atom i and
// makes it alive.
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

// AdoptPlain stores the atoms of creates with bundles without pointers as payloads, and
// decides their outcomes.
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
