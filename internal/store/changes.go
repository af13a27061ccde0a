package store

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

// Watch says what somebody wants to be told of. The zero value is nothing.
type Watch struct {
	Created bool  // atoms that are created
	Changes []Set // atoms that come to have one of these sets of components, or have it no longer
	Stored  Set   // components that are stored anew
}

// changes reports whether an atom that goes from one component set to another is to be
// told of.
func (w *Watch) changes(from, to *Set) bool {
	for i := range w.Changes {
		if from.Contains(&w.Changes[i]) != to.Contains(&w.Changes[i]) {
			return true
		}
	}
	return false
}

// notes are what has happened to a shard's atoms since the last refresh told of it.
// Without a Watch they stay empty.
//
// Ownership: the shard's owner.
type changeLog struct {
	created []handle.Handle // while they are told, or gathered; before, in the record
	changes []changeEntry
	stored  []storeEntry
}

type changeEntry struct {
	handle handle.Handle
	from   *Table
	moves  uint32 // the space's: an atom that moves leaves notes in several shards
}

type storeEntry struct {
	handle    handle.Handle
	component uint16
}

// notifySets are sets of a chunk's rows that are being told of. They are empty otherwise.
type notifySets struct {
	created []uint64 // atoms that are told of as created
	once    []uint64 // atoms that were come by
}

// SetWatch says what the shards of a world are to note from now on. The world must be
// idle.
func (s *Space) SetWatch(w Watch, shards []*Shard, columns []AnyColumn) {
	s.watch = w
	for id, c := range columns {
		c.watch(w.Stored.Has(id))
	}
	for _, sh := range shards {
		sh.tally.watched = w.Created
		for _, t := range sh.tables {
			for _, e := range t.edges {
				e.watched = w.changes(&t.set, &e.to.set)
			}
		}
	}
}

func (c *Column[T]) watch(on bool) { c.watched = on }

// Watched reports whether it is to be noted when a row is stored anew: NoteStored.
func (c *Column[T]) Watched() bool { return c.watched }

// logChange notes that an atom leaves a table for one with other components.
func (s *Shard) logChange(h handle.Handle, from *Table) {
	s.changes.changes = append(s.changes.changes, changeEntry{h, from, s.space.moves})
}

// noteChanges is logChange for all atoms of a chunk.
func (c *Chunk) noteChanges() {
	for _, h := range c.handles[:c.n] {
		c.table.shard.logChange(h, c.table)
	}
}

// NoteStored notes that a component of the atom at l was stored anew. It is not inlined:
// storing shall be as short as it is without it.
//
//go:noinline
func (s *Space) NoteStored(l Loc, component int) {
	c := s.chunk(l)
	n, x := &c.table.shard.changes, storeEntry{c.handles[l.Row()], uint16(component)}
	if last := len(n.stored) - 1; last < 0 || n.stored[last] != x {
		n.stored = append(n.stored, x)
	}
}

// NoteAllStored is NoteStored for those of some components that are watched.
func (s *Space) NoteAllStored(l Loc, components Set) {
	if s.watch.Stored == (Set{}) {
		return
	}
	for id := range components.Common(s.watch.Stored).All {
		s.NoteStored(l, id)
	}
}

// Noted returns how many notes there are.
func (s *Shard) Noted() int {
	return len(s.tally.fresh) + len(s.changes.changes) + len(s.changes.stored)
}

// GatherChanges gives each shard the notes on the atoms that it has. The world must be
// idle, or in a step of the refresh that the coordinator does.
func (s *Space) GatherChanges(shards []*Shard) {
	if s.moves == s.gathered {
		return
	}
	s.gathered = s.moves
	for _, sh := range shards {
		sh.tally.fresh = slices.DeleteFunc(sh.tally.fresh, func(h handle.Handle) bool {
			to := s.misrouted(sh, h, shards)
			if to != nil {
				to.changes.created = append(to.changes.created, h)
			}
			return to != nil
		})
		stay := 0
		for _, x := range sh.changes.changes {
			if to := s.misrouted(sh, x.handle, shards); to != nil {
				to.notifying.changes = append(to.notifying.changes, x)
				continue
			}
			sh.changes.changes[stay] = x
			stay++
		}
		sh.changes.changes = sh.changes.changes[:stay]
		stay = 0
		for _, x := range sh.changes.stored {
			if to := s.misrouted(sh, x.handle, shards); to != nil {
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
			sh.notifying.changes = sh.notifying.changes[:0]
			slices.SortStableFunc(sh.changes.changes, func(a, b changeEntry) int { return int(a.moves) - int(b.moves) })
		}
	}
}

// misrouted returns the shard that an atom is in, unless it is the given one.
func (s *Space) misrouted(sh *Shard, h handle.Handle, shards []*Shard) *Shard {
	if l := s.Locate(h); l != 0 {
		if to := s.chunk(l).table.shard; to != sh {
			return shards[to.id]
		}
	}
	return nil
}
