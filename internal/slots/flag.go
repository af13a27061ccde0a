package slots

import (
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
)

// Flags is a set of up to FlagsMax flags of an entity, one bit each.
type Flags uint8

// FlagsMax is the number of flags.
const FlagsMax = 8

// The flags of an entity are kept twice. The shard that has its row keeps them by row. In addition
// each slot has a word that any goroutine may read at any time, and that the refresh publishes:
//
//	word  | low word of the handle (32 bits) | 0 | flags (8 bits) |   atomic
//
// So a word belongs to one entity: for a later entity in the same slot it holds no flags. A
// home in which no entity was ever flagged has no words.

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
func (d *Directory) Flags(h handle.Handle) Flags {
	if !d.Alive(h) { // otherwise h may name a home that does not exist
		return 0
	}
	word := d.flags[h.Home()].Load().word(h.Index())
	if word == nil {
		return 0
	}
	if w := word.Load(); uint32(w>>32) == uint32(h) {
		return Flags(w)
	}
	return 0
}

// PublishFlags publishes f as the flags that any goroutine may read. The caller owns the atom.
func (d *Directory) PublishFlags(h handle.Handle, f Flags) {
	word := d.flags[h.Home()].Load().word(h.Index())
	if word == nil {
		word = d.addFlagPage(h.Home(), h.Index())
	}
	word.Store(uint64(uint32(h))<<32 | uint64(f))
}

// addFlagPage makes the page of an index's word, unless another goroutine has made it in the
// meantime.
func (d *Directory) addFlagPage(home, index uint32) *atomic.Uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.flags[home].Load()
	if n := len(d.mu.tables[home]); t == nil || n > len(*t) {
		longer := make(flagTable, n)
		if t != nil {
			for i := range *t {
				longer[i].Store((*t)[i].Load())
			}
		}
		t = &longer
		d.flags[home].Store(t) // readers may still use the old one
	}
	if p := &(*t)[index>>pageBits]; p.Load() == nil {
		p.Store(new(flagPage))
	}
	return t.word(index)
}
