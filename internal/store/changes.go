package store

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/slots"
)

// Watch says which changes are recorded. The zero value records none.
type Watch struct {
	Created bool  // atoms that are created
	Told    []Set // of created atoms, hooks are told of those that have all components of one of these sets
	Changes []Set // atoms that begin or cease to have all components of one of these sets
	Stored  Set   // components whose values are replaced
}

// changes reports whether to record that an atom goes from one component set to another.
func (w *Watch) changes(from, to *Set) bool {
	for i := range w.Changes {
		if from.Contains(&w.Changes[i]) != to.Contains(&w.Changes[i]) {
			return true
		}
	}
	return false
}

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

// Watched reports whether the caller must call NoteStored for each row whose value it replaces.
func (c *Column) Watched() bool { return c.watched }

// NoteStored records that a component of an atom, which must be here, was replaced. It is not
// inlined, so that the code that stores stays short.
//
//go:noinline
func (s *Shard) NoteStored(h handle.Handle, component int) {
	n, x := &s.changes, storeEntry{h, uint16(component)}
	if last := len(n.stored) - 1; last < 0 || n.stored[last] != x {
		n.stored = append(n.stored, x)
	}
}

// NoteAllStored is NoteStored for each of the given components that is watched.
func (s *Space) NoteAllStored(l slots.Loc, components Set) {
	if s.watch.Stored == (Set{}) {
		return
	}
	c := s.chunk(l)
	for id := range components.Common(s.watch.Stored).All {
		c.table.shard.NoteStored(c.handles[l.Row()], id)
	}
}

// Noted returns how many entries there are.
func (s *Shard) Noted() int {
	return len(s.tally.fresh) + rowsOf(s.tally.runs) + len(s.changes.changes) + rowsOf(s.changes.runs) + len(s.changes.stored)
}

// Due returns how many entries hooks may have to be told of. If there are none, it forgets the created
// atoms, so that no refresh has anything to do for them.
func (s *Shard) Due() int {
	n := s.Noted()
	if n > rowsOf(s.tally.runs) || slices.ContainsFunc(s.tally.runs, s.space.watch.tells) {
		return n
	}
	s.tally.runs = dropRuns(s.tally.runs)
	return 0
}

// tells reports whether a hook is told of the created atoms in a run.
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
