package slots

import (
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
)

// Liveness is the part of a world that a reference holds: enough to ask whether an entity is alive.
// It does not keep the rest of the world in memory.
//
// Invariants: until it is cut, it finds the slots of its world.
//
// Ownership: any goroutine may read it, and may cut it.
type Liveness struct {
	dir   atomic.Pointer[Lookup] // first: Alive is just small enough to be inlined
	cut   atomic.Bool
	ports atomic.Uint32 // the home of what ports create
}

// Liveness returns the Liveness of the directory, which is made with it. Any goroutine may ask.
func (d *Directory) Liveness() *Liveness { return d.liveness }

// Alive reports whether h is alive. Once the Liveness is cut, it returns false for all
// handles. Safe from any goroutine at any time; it never blocks and never writes. It is small
// enough to be inlined.
func (l *Liveness) Alive(h handle.Handle) bool { return l.dir.Load().Alive(h) }

// State returns what the slot of h holds, if h is its handle: alive, staged by a refresh, or
// pending: a free slot of ports, whose handle a port may have given; PortAllocator.Given says more.
// It returns false for all other handles, and for all once the Liveness is cut. It reads the slot in
// one load, so for an entity that is being created it returns the state before or after. Safe as
// Alive.
func (l *Liveness) State(h handle.Handle) (State, bool) {
	slot := l.dir.Load().Slot(h)
	if slot == nil {
		return StateUnused, false
	}
	version, state := unpack(slot.Load(), h)
	if state == StateUnused && h.Home() == l.ports.Load() {
		version, state = max(version, 1), StatePending
	}
	return state, version == h.Version() && version != 0 && state != StateUnused && state != StateRetired
}

// Cut empties the Liveness for good, because its world is gone. Safe from any goroutine.
func (l *Liveness) Cut() {
	l.cut.Store(true)
	none := newLookup(1) // without a slot
	l.dir.Store(&none)
}

// Gone reports whether the Liveness was cut. Safe from any goroutine.
func (l *Liveness) Gone() bool { return l.cut.Load() }
