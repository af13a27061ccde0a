package shard

import (
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
)

// Anchor is what a reference holds of a space: enough to ask whether an entity is
// alive, and nothing that keeps the rest of the world in memory.
//
// Invariants: until it is cut, it has the directory that its space has.
//
// Ownership: the space stores under its lock; anyone may ask, and may cut it.
type Anchor struct {
	outside uint32 // the home of what ports create
	dir     atomic.Pointer[directory]
	cut     atomic.Bool
}

// emptyDirectory is that of an anchor without a world.
var emptyDirectory = &directory{refs: []pageRef{{base: noBase}}}

// Anchor returns the space's anchor.
func (s *Space) Anchor() *Anchor { return s.anchor }

// Alive reports whether h is alive: false for all once the anchor is cut. Safe from
// any goroutine at any time; it never blocks and never writes. It is small enough
// to be inlined.
func (a *Anchor) Alive(h handle.Handle) bool {
	d := a.dir.Load()
	e := &d.refs[h>>pageShift&d.mask]
	if i := h>>handle.VersionBits - e.base; i < pageSize {
		g := e.page[i].load()
		return g == uint32(h) && g != 0 // 0: never used, and h has version 0
	}
	return false
}

// State tells what the slot of h holds, if h is its handle: alive, pending, or staged by a
// refresh. It returns false for all other handles, and for all once the anchor is cut. One
// load tells, so an entity that is created meanwhile is found in one state or the other.
// Safe as Alive.
func (a *Anchor) State(h handle.Handle) (State, bool) {
	d := a.dir.Load()
	e := &d.refs[h>>pageShift&d.mask]
	if i := h>>handle.VersionBits - e.base; i < pageSize {
		version, state := tell(e.page[i].load(), h, a.outside)
		return state, version == h.Version() && version != 0 && state != StateUnused && state != StateRetired
	}
	return StateUnused, false
}

// Cut empties the anchor for good: its world is gone.
func (a *Anchor) Cut() {
	a.cut.Store(true)
	a.dir.Store(emptyDirectory)
}

// Gone reports whether the anchor was cut.
func (a *Anchor) Gone() bool { return a.cut.Load() }

// follow publishes a directory. The space's lock is held.
func (a *Anchor) follow(d *directory) {
	a.dir.Store(d)
	if a.cut.Load() { // by now; who cuts sets the mark first
		a.dir.Store(emptyDirectory)
	}
}
