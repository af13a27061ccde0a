package store

import (
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
)

// Flags is a set of up to FlagsMax flags of an entity, one bit each.
type Flags uint8

// FlagsMax is the number of flags.
const FlagsMax = 8

// The flags of an entity are kept twice. Its chunk has a set of rows for each flag. These sets
// belong to the owner, are always up to date, and follow the row wherever it goes; queries
// look at them. In addition each slot has a word that anyone may read at any time, and that
// the refresh publishes:
//
//	word  | low word of the handle (32 bits) | 0 | flags (8 bits) |   atomic
//
// So a word belongs to one entity: for a later entity in the same slot it holds no flags. A
// world in which no entity was ever flagged has neither the sets nor the words.

// flagPage has the words of a page's slots.
type flagPage [pageSize]atomic.Uint64

// flagTable has the flagPages of a home, by page, nil where no entity was ever flagged.
type flagTable []atomic.Pointer[flagPage]

// word returns the word of an index, or nil if it has none.
func (t *flagTable) word(index uint32) *atomic.Uint64 {
	if t == nil || int(index>>pageBits) >= len(*t) {
		return nil
	}
	if p := (*t)[index>>pageBits].Load(); p != nil {
		return &p[index%pageSize]
	}
	return nil
}

// Flags returns the flags of an entity as of the last refresh, or none if it is not
// alive. Safe from any goroutine at any time; it never blocks and never writes.
func (s *Space) Flags(h handle.Handle) Flags {
	if !s.Alive(h) { // h may then name a home that does not exist
		return 0
	}
	word := s.flags[h.Shard()].Load().word(h.Index())
	if word == nil {
		return 0
	}
	if w := word.Load(); uint32(w>>32) == uint32(h) {
		return Flags(w)
	}
	return 0
}

// publishFlags publishes f as the flags that anyone may read. The caller owns the atom.
func (s *Space) publishFlags(h handle.Handle, f Flags) {
	word := s.flags[h.Shard()].Load().word(h.Index())
	if word == nil {
		word = s.addFlagPage(h.Shard(), h.Index())
	}
	word.Store(uint64(uint32(h))<<32 | uint64(f))
}

// addFlagPage makes the page of an index's word, unless another goroutine has made it by now.
func (s *Space) addFlagPage(home, index uint32) *atomic.Uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.flags[home].Load()
	if n := len(s.mu.tables[home]); t == nil || n > len(*t) {
		longer := make(flagTable, n)
		if t != nil {
			for i := range *t {
				longer[i].Store((*t)[i].Load())
			}
		}
		t = &longer
		s.flags[home].Store(t) // the old one stays valid for its readers
	}
	if p := &(*t)[index>>pageBits]; p.Load() == nil {
		p.Store(new(flagPage))
	}
	return t.word(index)
}

// SetFlags sets and clears flags of the atom at l, which must be here. The owner sees the
// change at once, others when PublishFlags is called.
func (s *Shard) SetFlags(l Loc, set, cleared Flags) {
	c, row := s.space.chunk(l), l.Row()
	c.setFlags(row, c.flagsAt(row)&^cleared|set)
	s.flagged = append(s.flagged, c.handles[row])
}

// PublishFlags publishes what SetFlags has changed. The atoms must not have left the shard
// since, because their new shards move their rows at the same time.
func (s *Shard) PublishFlags() {
	for _, h := range s.flagged {
		if l := s.space.Locate(h); l != 0 {
			s.space.publishFlags(h, s.space.FlagsAt(l))
		}
	}
	s.flagged = s.flagged[:0]
}

// FlagsAt returns the flags of the atom at l. The caller must own its shard, or
// be in a step of the refresh in which nobody sets any.
func (s *Space) FlagsAt(l Loc) Flags { return s.chunk(l).flagsAt(l.Row()) }
