package world

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/slots"
)

// Status is the state of a handle.
type Status uint8

// The statuses of a handle.
const (
	// Forged: no such handle was ever given. The shard or index is out of
	// range, or the version is one that the slot has not reached.
	Forged Status = iota
	// Unused: the slot is free and this would be its next handle, which was not given yet.
	Unused
	// Pending: a port was given the handle, and the entity is stored at the refresh that applies
	// the create. To systems, functions and hooks every free slot is pending that ports had drawn
	// by the last refresh; what ports draw later is forged to them until the next one. So they see
	// the same however ports and ticks happen to meet.
	Pending
	// Alive: the entity is stored. A marked entity is alive until the refresh for all but its
	// owner.
	Alive
	// Dying: the entity is marked and will be removed at the refresh. Only the shard that owns
	// it gets this status.
	Dying
	// Stale: it was alive once.
	Stale
)

// String returns the status as a lower-case word.
func (s Status) String() string {
	if s > Stale {
		return "unknown"
	}
	return [...]string{"forged", "unused", "pending", "alive", "dying", "stale"}[s]
}

// statusInTick returns the Status of a handle for systems, functions and hooks: never Dying. Ports
// draw handles at any time, and a replay does not know when. So it depends only on what was drawn
// and stored at the last cut: all free slots of ports are pending, in a hand or not, and what was
// drawn since is forged.
func statusInTick(w *World, h handle.Handle) Status {
	if w.space.IsPorts(h) && h.Index() >= w.engine.PortSlots.Settled() {
		return Forged
	}
	return status(w, h, true)
}

// statusNow returns the Status of a handle as any goroutine may know it: never Dying. A free slot of
// ports is pending only if a port has given its handle to a caller.
func statusNow(w *World, h handle.Handle) Status {
	s := status(w, h, false)
	if s != Unused || !w.space.IsPorts(h) {
		return s
	}
	switch {
	case h.Index() >= w.engine.PortSlots.Drawn():
		return Forged
	case !w.engine.PortSlots.Given(h):
		return status(w, h, false) // again: meanwhile it may have been created, have died and be drawn anew
	}
	return w.pending()
}

// pending returns the Status of a handle that is to come.
func (w *World) pending() Status {
	if w.engine.Closed.Load() {
		return Stale // no create is applied any more
	}
	return Pending
}

// status returns the Status of a handle. free says that free slots of ports are pending.
func status(w *World, h handle.Handle, free bool) Status {
	version, state, ok := w.space.Look(h)
	switch {
	case !ok || h.Version() == 0 || h.Version() > version:
		return Forged
	case h.Version() < version:
		return Stale
	}
	switch state {
	case slots.StateAlive:
		return Alive
	case slots.StateStaged: // the refresh has yet to decide whether it lives
		return Pending
	case slots.StateUnused:
		if free && w.space.IsPorts(h) {
			return w.pending()
		}
		return Unused
	default: // retired at this version
		return Stale
	}
}
