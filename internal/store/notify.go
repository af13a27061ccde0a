package store

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/slots"
)

// BeginNotify takes what was recorded since the last time, for the Append methods to return until
// EndNotify. Rows must not move meanwhile; new changes are recorded for the next time. Each atom is
// reported once, by its state now compared with the last time. A created atom is reported as
// created, with the components that it has by now, and otherwise at most as destroyed.
func (s *Shard) BeginNotify() {
	if s.applying.staged != 0 { // some may have been created and destroyed in this refresh, and never alive
		s.settle()
	}
	s.changes, s.notifying = s.notifying, s.changes
	t := &s.notifying
	t.created, s.tally.fresh = s.tally.fresh, t.created[:0]
	t.born, s.tally.runs = s.tally.runs, t.born[:0]
	for _, runs := range [][]notedRun{t.born, t.runs} {
		for i := range runs {
			runs[i].chunk.noted = false
		}
	}
	t.created = slices.DeleteFunc(t.created, func(h handle.Handle) bool { return !s.space.Alive(h) })
	if len(t.changes)+len(t.runs)+len(t.stored) == 0 {
		return
	}
	for _, h := range t.created {
		c, row := s.row(h)
		setBit(&c.seen().created, row, len(c.marks))
	}
	for i := range t.born {
		x := &t.born[i]
		setBits(&x.chunk.seen().created, int(x.from), int(x.to), len(x.chunk.marks))
	}
	s.keepFirst()
}

// keepFirst drops all changes of created atoms, and of the others all but the first.
func (s *Shard) keepFirst() {
	t := &s.notifying
	first := t.changes[:0]
	for _, x := range t.changes {
		if c, row := s.row(x.handle); c != nil && !c.isCreated(row) && setBit(&c.seen().once, row, len(c.marks)) {
			first = append(first, x)
		}
	}
	clear(t.changes[len(first):])
	t.changes = first
	runs := t.first[:0]
	for _, x := range t.runs {
		sets := x.chunk.seen()
		for row, to := int(x.from), int(x.to); row < to; {
			row += sets.stretch(row, to, true)
			if n := sets.stretch(row, to, false); n > 0 {
				x.from, x.to = uint32(row), uint32(row+n)
				runs = append(runs, x)
				setBits(&sets.once, row, row+n, len(x.chunk.marks))
				row += n
			}
		}
	}
	clear(t.runs)
	t.runs, t.first = runs, t.runs[:0]
	for _, x := range first {
		c, row := s.row(x.handle)
		unsetBit(c.notify.once, row)
	}
	for i := range runs {
		unsetBits(runs[i].chunk.notify.once, int(runs[i].from), int(runs[i].to))
	}
}

// EndNotify forgets what BeginNotify took.
func (s *Shard) EndNotify() {
	t := &s.notifying
	for _, h := range t.created {
		if c, row := s.row(h); c.isCreated(row) {
			unsetBit(c.notify.created, row)
		}
	}
	for i := range t.born {
		if x := &t.born[i]; x.chunk.isCreated(int(x.from)) {
			unsetBits(x.chunk.notify.created, int(x.from), int(x.to))
		}
	}
	clear(t.born)
	clear(t.changes)
	clear(t.runs)
	t.created, t.born, t.changes, t.runs, t.stored = t.created[:0], t.born[:0], t.changes[:0], t.runs[:0], t.stored[:0]
}

// AppendCreated appends the atoms that were created and have the components, in the
// order in which they were created.
func (s *Shard) AppendCreated(to []handle.Handle, set *Set) []handle.Handle {
	for _, h := range s.notifying.created {
		if c, _ := s.row(h); c.table.set.Contains(set) {
			to = append(to, h)
		}
	}
	for i := range s.notifying.born {
		if x := &s.notifying.born[i]; x.chunk.table.set.Contains(set) {
			to = append(to, x.handles()...)
		}
	}
	return to
}

// AppendAdded appends the atoms that have the components and did not have all of them,
// in the order in which they changed first.
func (s *Shard) AppendAdded(to []handle.Handle, set *Set) []handle.Handle {
	return s.appendChanged(to, set, true)
}

// AppendRemoved appends the atoms that had the components and no longer have all of them,
// in the order in which they changed first.
func (s *Shard) AppendRemoved(to []handle.Handle, set *Set) []handle.Handle {
	return s.appendChanged(to, set, false)
}

// appendChanged is AppendAdded or AppendRemoved.
func (s *Shard) appendChanged(to []handle.Handle, set *Set, added bool) []handle.Handle {
	for _, x := range s.notifying.changes {
		if c, _ := s.row(x.handle); x.from.set.Contains(set) != added && c.table.set.Contains(set) == added {
			to = append(to, x.handle)
		}
	}
	for i := range s.notifying.runs {
		if x := &s.notifying.runs[i]; x.had.set.Contains(set) != added && x.chunk.table.set.Contains(set) == added {
			to = append(to, x.handles()...)
		}
	}
	return to
}

// AppendStored appends the atoms that have the components and had one of them replaced, in the
// order in which that happened first.
func (s *Shard) AppendStored(to []handle.Handle, set *Set) []handle.Handle {
	t, lookup := &s.notifying, s.space.Lookup
	component, has := ComponentsMax, false
	at := slots.Loc(0)         // the number of a chunk
	var once, created []uint64 // of that chunk
	for i := range t.stored {
		x := &t.stored[i]
		if int(x.component) != component {
			component = int(x.component)
			has = set.Has(component)
		}
		l := lookup.Locate(x.handle)
		if l == 0 || !has {
			continue
		}
		if l>>slots.RowBits != at {
			at = l >> slots.RowBits
			once, created = t.meet(s.space.chunk(l), set)
		}
		word, bit := l.Row()/64, uint64(1)<<(l.Row()%64)
		if word < len(once) && once[word]&bit == 0 && (created == nil || created[word]&bit == 0) {
			once[word] |= bit
			to = append(to, x.handle)
		}
	}
	for i, c := range t.met {
		clear(c.notify.once)
		c.notify.met, t.met[i] = false, nil
	}
	t.met = t.met[:0]
	return to
}

// meet returns the sets of rows of a chunk whose atoms have the components, and none of another.
func (l *changeLog) meet(c *Chunk, set *Set) (once, created []uint64) {
	if !c.table.set.Contains(set) {
		return nil, nil
	}
	seen := c.seen()
	if seen.once == nil {
		seen.once = make([]uint64, len(c.marks))
	}
	if !seen.met {
		seen.met = true
		l.met = append(l.met, c)
	}
	return seen.once, seen.created
}

// AppendDying appends the marked atoms that have the components. Tables are in the order in which
// each first got a marked row; atoms of a table are in the order of their rows.
func (s *Shard) AppendDying(to []handle.Handle, set *Set) []handle.Handle {
	for _, t := range s.dirty {
		if !t.set.Contains(set) {
			continue
		}
		from := len(to)
		to = t.appendMarked(to)
		if s.applying.staged != 0 { // some may have been created and marked in this refresh, and never alive
			alive := slices.DeleteFunc(to[from:], func(h handle.Handle) bool { return !s.space.Alive(h) })
			to = to[:from+len(alive)]
		}
	}
	return to
}

// row returns where an atom is, or nil if it is not alive.
func (s *Shard) row(h handle.Handle) (*Chunk, int) {
	l := s.space.Locate(h)
	if l == 0 {
		return nil, 0
	}
	return s.space.chunk(l), l.Row()
}

// seen returns the chunk's sets of rows, made on the first call.
func (c *Chunk) seen() *notifySets {
	if c.notify == nil {
		c.notify = new(notifySets)
	}
	return c.notify
}

func (c *Chunk) isCreated(row int) bool {
	return c.notify != nil && c.notify.created != nil && c.notify.created[row/64]>>(row%64)&1 != 0
}

// setBit sets a row's bit in a set of words words, and reports whether it was not set before.
func setBit(bits *[]uint64, row, words int) bool {
	if *bits == nil {
		*bits = make([]uint64, words)
	}
	w, bit := &(*bits)[row/64], uint64(1)<<(row%64)
	if *w&bit != 0 {
		return false
	}
	*w |= bit
	return true
}

func unsetBit(bits []uint64, row int) { bits[row/64] &^= 1 << (row % 64) }
