package store

import (
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
)

// Liveness is what a reference holds of a space: enough to ask whether an entity is
// alive, and nothing that keeps the rest of the world in memory.
//
// Invariants: until it is cut, it has the directory of its space.
//
// Ownership: anyone may ask, and may cut it.
type Liveness struct {
	dir   atomic.Pointer[Lookup] // first: Alive is just small enough to be inlined
	cut   atomic.Bool
	ports uint32 // the home of what ports create
}

// Liveness returns the space's liveness handle.
func (s *Space) Liveness() *Liveness { return s.liveness }

// Alive reports whether h is alive: false for all once the liveness handle is cut. Safe from
// any goroutine at any time; it never blocks and never writes. It is small enough
// to be inlined.
func (a *Liveness) Alive(h handle.Handle) bool { return a.dir.Load().Alive(h) }

// State tells what the slot of h holds, if h is its handle: alive, pending, or staged by a
// refresh. It returns false for all other handles, and for all once the liveness handle is cut. One
// load tells, so an entity that is created meanwhile is found in one state or the other.
// Safe as Alive.
func (a *Liveness) State(h handle.Handle) (State, bool) {
	if slot := a.dir.Load().slot(h); slot != nil {
		version, state := tell(slot.load(), h, a.ports)
		return state, version == h.Version() && version != 0 && state != StateUnused && state != StateRetired
	}
	return StateUnused, false
}

// Cut empties the liveness handle for good: its world is gone.
func (a *Liveness) Cut() {
	a.cut.Store(true)
	none := newLookup(1) // without a slot
	a.dir.Store(&none)
}

// Gone reports whether the liveness handle was cut.
func (a *Liveness) Gone() bool { return a.cut.Load() }
