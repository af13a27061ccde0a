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

// Flags returns the flags of an entity as of the last refresh, or none if it is not
// alive. Safe from any goroutine at any time; it never blocks and never writes.
func (d *Directory) Flags(h handle.Handle) Flags {
	if !d.Alive(h) { // otherwise h may name a home that does not exist
		return 0
	}
	word := d.flags.At(h)
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
	word := d.flags.At(h)
	if word == nil {
		word = d.addFlags(h)
	}
	word.Store(uint64(uint32(h))<<32 | uint64(f))
}

// addFlags makes the page of a slot's word, unless another goroutine has made it in the meantime.
func (d *Directory) addFlags(h handle.Handle) *atomic.Uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.flags.Reach(h.Home(), d.Pages(h.Home()))
	return d.flags.Make(h)
}
