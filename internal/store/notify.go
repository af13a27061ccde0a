package store

import (
	"math/bits"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/slots"
)

// changeLog records what has happened to a shard's atoms since the last refresh that notified
// hooks. Without a Watch it stays empty.
//
// Ownership: the shard's owner.
type changeLog struct {
	created []handle.Handle // while hooks are notified or changes gathered; before that the tally has them
	born    []notedRun      // likewise
	changes []changeEntry   // and after them
	runs    []notedRun
	stored  []storeEntry
	first   []notedRun // scratch of BeginNotify
	met     []*Chunk   // while a list is being read: those whose set once is to be emptied
}

type changeEntry struct {
	handle handle.Handle
	from   *Table
	moves  uint32 // that of the space: an atom that migrates leaves entries in several shards
}

type storeEntry struct {
	handle    handle.Handle
	component uint16
}

// notifySets are sets of a chunk's rows. They are empty except while hooks are notified.
//
// Ownership: the shard's owner.
type notifySets struct {
	created []uint64 // atoms that are reported as created
	once    []uint64 // atoms that were found before in the list that is being read
	met     bool     // the chunk is in met of the changeLog
}

// SetWatch sets what the shards of a world record from now on. The world must be idle.
func (s *Space) SetWatch(w Watch, shards []*Shard) {
	s.watch = w
	for id, c := range s.Columns {
		c.watched = w.Stored.Has(id)
	}
	for _, sh := range shards {
		sh.tally.watched, sh.tally.hooked = w.Created, w.Created
		for _, t := range sh.bySet {
			for _, e := range t.edges {
				e.watched = w.changes(&t.set, &e.to.set)
			}
		}
	}
}

// NoteStored records that a component of an atom, which must be here, was replaced. It is not
// inlined, so that the code that stores stays short. The owner of the shard calls it.
//
//go:noinline
func (s *Shard) NoteStored(h handle.Handle, component int) {
	n, x := &s.changes, storeEntry{h, uint16(component)}
	if last := len(n.stored) - 1; last < 0 || n.stored[last] != x {
		n.stored = append(n.stored, x)
	}
}

// NoteAllStored is NoteStored for each of the given components that is watched. The owner of the
// atom's shard calls it.
func (s *Space) NoteAllStored(l slots.Loc, components Set) {
	if s.watch.Stored == (Set{}) {
		return
	}
	c := s.chunk(l)
	for id := range components.Common(s.watch.Stored).All {
		c.table.shard.NoteStored(c.handles[l.Row()], id)
	}
}

// Noted returns how many entries hooks have yet to be told of: created atoms, changes and replaced
// components.
func (s *Shard) Noted() int {
	return len(s.tally.fresh) + rowsOf(s.tally.runs) + len(s.changes.changes) + rowsOf(s.changes.runs) + len(s.changes.stored)
}

// Due returns how many entries hooks may have to be told of. If there are none, it forgets the
// created atoms, so that no refresh has anything to do for them. The coordinator calls it before
// hooks run.
func (s *Shard) Due() int {
	n := s.Noted()
	if n > rowsOf(s.tally.runs) || slices.ContainsFunc(s.tally.runs, s.space.watch.tells) {
		return n
	}
	s.tally.runs = dropRuns(s.tally.runs)
	return 0
}

// tells reports whether a hook is told of the created atoms in a run. Due asks.
func (w *Watch) tells(x notedRun) bool {
	set := &x.chunk.table.set
	for i := range w.Told {
		if set.Contains(&w.Told[i]) {
			return true
		}
	}
	return false
}

// GatherChanges moves the entries about an atom to the shard that has it. The world must be idle,
// or in a step of the refresh that the coordinator runs alone.
func (s *Space) GatherChanges(shards []*Shard) {
	if s.moves == s.gathered {
		return
	}
	s.gathered = s.moves
	for _, sh := range shards {
		sh.settle()
		sh.tally.fresh = slices.DeleteFunc(sh.tally.fresh, func(h handle.Handle) bool {
			to := s.movedTo(sh, h, shards)
			if to != nil {
				to.changes.created = append(to.changes.created, h)
			}
			return to != nil
		})
		stay := 0
		for _, x := range sh.changes.changes {
			if to := s.movedTo(sh, x.handle, shards); to != nil {
				to.notifying.changes = append(to.notifying.changes, x)
				continue
			}
			sh.changes.changes[stay] = x
			stay++
		}
		clear(sh.changes.changes[stay:])
		sh.changes.changes = sh.changes.changes[:stay]
		stay = 0
		for _, x := range sh.changes.stored {
			if to := s.movedTo(sh, x.handle, shards); to != nil {
				to.notifying.stored = append(to.notifying.stored, x)
				continue
			}
			sh.changes.stored[stay] = x
			stay++
		}
		sh.changes.stored = sh.changes.stored[:stay]
	}
	for _, sh := range shards {
		sh.tally.fresh = append(sh.tally.fresh, sh.changes.created...)
		sh.changes.created = sh.changes.created[:0]
		sh.changes.stored = append(sh.changes.stored, sh.notifying.stored...)
		sh.notifying.stored = sh.notifying.stored[:0]
		if len(sh.notifying.changes) > 0 {
			sh.changes.changes = append(sh.changes.changes, sh.notifying.changes...)
			clear(sh.notifying.changes)
			sh.notifying.changes = sh.notifying.changes[:0]
			slices.SortStableFunc(sh.changes.changes, func(a, b changeEntry) int { return int(a.moves) - int(b.moves) })
		}
	}
}

// movedTo returns the shard that an atom is in, or nil if it is the given one.
func (s *Space) movedTo(sh *Shard, h handle.Handle, shards []*Shard) *Shard {
	if l := s.Locate(h); l != 0 {
		if to := s.chunk(l).table.shard; to != sh {
			return shards[to.id]
		}
	}
	return nil
}

// notedRun are rows of a chunk whose atoms were created, or had other components before. A batch is
// noted as one run. The rows of a run do not move: whatever moves rows of a noted chunk calls settle
// first, which notes the handles instead.
//
//	created  fresh [h h h …]      runs [chunk 3, rows 0 to 4096][chunk 4, rows 0 to 17]
//	         └── settled ───┘           └──────────────── later ────────────────────┘
//
// Ownership: the shard's owner.
type notedRun struct {
	chunk    *Chunk
	from, to uint32
	moves    uint32 // as in changeEntry
	had      *Table // where the atoms were before; nil if they were created
}

// handles returns the atoms of the run.
func (n *notedRun) handles() []handle.Handle { return n.chunk.handles[n.from:n.to] }

// addRun adds rows to a list of runs: to the last, if they follow it.
func addRun(runs []notedRun, x notedRun) []notedRun {
	if n := len(runs); n > 0 {
		if l := &runs[n-1]; l.chunk == x.chunk && l.to == x.from && l.had == x.had && l.moves == x.moves {
			l.to = x.to
			return runs
		}
	}
	x.chunk.noted = true
	return append(runs, x)
}

// noteCreated records n rows of a chunk from a row on, whose atoms were created.
func (t *tally) noteCreated(c *Chunk, row, n int) {
	t.runs = addRun(t.runs, notedRun{chunk: c, from: uint32(row), to: uint32(row + n)})
}

// noteChanges records n rows of a chunk from a row on, whose atoms were in a table with other
// components.
func (s *Shard) noteChanges(c *Chunk, row, n int, had *Table) {
	s.changes.runs = addRun(s.changes.runs, notedRun{c, uint32(row), uint32(row + n), s.space.moves, had})
}

// settle notes handles instead of runs, because rows are about to move.
func (s *Shard) settle() {
	if len(s.tally.runs) > 0 {
		s.tally.fresh = s.appendCreated(s.tally.fresh)
		s.tally.runs = dropRuns(s.tally.runs)
	}
	if len(s.changes.runs) > 0 {
		s.changes.changes = s.appendChanges(s.changes.changes)
		s.changes.runs = dropRuns(s.changes.runs)
	}
}

// settleRows is settle if one of the last n rows of the table is in a noted chunk.
func (t *Table) settleRows(n int) {
	for order := t.cur.order; order >= 0 && n > 0; order-- {
		c := t.chunks[order]
		if c.noted {
			t.shard.settle()
			return
		}
		n -= c.n
	}
}

// appendCreated appends the created atoms that are noted in runs.
func (s *Shard) appendCreated(to []handle.Handle) []handle.Handle {
	for i := range s.tally.runs {
		to = append(to, s.tally.runs[i].handles()...)
	}
	return to
}

// appendChanges appends an entry for each atom that runs say has changed.
func (s *Shard) appendChanges(to []changeEntry) []changeEntry {
	for i := range s.changes.runs {
		x := &s.changes.runs[i]
		for _, h := range x.handles() {
			to = append(to, changeEntry{h, x.had, x.moves})
		}
	}
	return to
}

// dropRuns empties a list of runs, whose chunks are then no longer noted.
func dropRuns(runs []notedRun) []notedRun {
	for i := range runs {
		runs[i].chunk.noted = false
	}
	clear(runs)
	return runs[:0]
}

// rowsOf returns how many rows are in runs.
func rowsOf(runs []notedRun) (n int) {
	for i := range runs {
		n += int(runs[i].to - runs[i].from)
	}
	return n
}

// setBits sets the bits from one row up to another in a chunk's set of rows, of that many words,
// which it makes if it is nil. The shard's owner calls it.
func setBits(set *[]uint64, from, to, words int) {
	if *set == nil {
		*set = make([]uint64, words)
	}
	for from < to {
		n := min(to-from, 64-from%64)
		(*set)[from/64] |= ^uint64(0) >> (64 - n) << (from % 64)
		from += n
	}
}

// unsetBits undoes setBits.
func unsetBits(set []uint64, from, to int) {
	for from < to {
		n := min(to-from, 64-from%64)
		set[from/64] &^= ^uint64(0) >> (64 - n) << (from % 64)
		from += n
	}
}

// stretch returns how many rows from one on, before another, are in one of the sets, or in none if
// in is false. A set may be nil.
func (n *notifySets) stretch(from, to int, in bool) int {
	row := from
	for row < to {
		w := uint64(0)
		if n.created != nil {
			w = n.created[row/64]
		}
		if n.once != nil {
			w |= n.once[row/64]
		}
		if in {
			w = ^w
		}
		if w >>= row % 64; w != 0 {
			return min(to, row+bits.TrailingZeros64(w)) - from
		}
		row += 64 - row%64
	}
	return to - from
}

// BeginNotify takes what was recorded since the last time, for the Append methods to return until
// EndNotify. Rows must not move meanwhile; new changes are recorded for the next time. Each atom is
// reported once, by its state now compared with the last time. A created atom is reported as
// created, with the components that it has by now, and otherwise at most as destroyed. The worker
// that runs the shard calls it in the step observe.
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

// EndNotify forgets what BeginNotify took. It ends the step observe for the shard.
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

// AppendCreated appends the atoms that were created and have the components, in the order in which
// they were created. Between BeginNotify and EndNotify the owner of the shard calls it for a hook.
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

// AppendAdded appends the atoms that have the components and did not have all of them, in the order
// in which they changed first. For whom, see AppendCreated.
func (s *Shard) AppendAdded(to []handle.Handle, set *Set) []handle.Handle {
	return s.appendChanged(to, set, true)
}

// AppendRemoved appends the atoms that had the components and no longer have all of them, in the
// order in which they changed first. For whom, see AppendCreated.
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
// order in which that happened first. For whom, see AppendCreated.
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
// each first got a marked row; atoms of a table are in the order of their rows. For whom, see
// AppendCreated.
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

// isCreated reports whether the atom in a row is among those that hooks are told were created.
func (c *Chunk) isCreated(row int) bool {
	return c.notify != nil && c.notify.created != nil && c.notify.created[row/64]>>(row%64)&1 != 0
}

// setBit sets a row's bit in a chunk's set of rows, of that many words, which it makes if it is
// nil, and reports whether the bit was not set before. The shard's owner calls it.
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

// unsetBit undoes setBit.
func unsetBit(bits []uint64, row int) { bits[row/64] &^= 1 << (row % 64) }
