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
	// Unused: the slot is free and this would be its next handle, which was not given yet. For
	// slots that ports create from, the status is Pending instead.
	Unused
	// Pending: a port was given the handle, or may be given it; the entity is stored at the
	// refresh that applies the create.
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

// status returns the Status as any goroutine may know it: never Dying.
func status(w *World, h handle.Handle) Status {
	version, state, ok := w.space.Look(h)
	if !ok || h.Version() == 0 {
		return Forged
	}
	if version == 0 { // never used: the first version is next
		version, state = 1, slots.StateUnused
	}
	switch {
	case h.Version() < version:
		return Stale
	case h.Version() > version:
		return Forged
	}
	switch state {
	case slots.StateAlive:
		return Alive
	case slots.StatePending:
		if w.engine.Closed.Load() {
			return Stale // no create is applied any more
		}
		return Pending
	case slots.StateStaged: // the refresh has yet to decide whether it lives
		return Pending
	case slots.StateUnused:
		return Unused
	default: // retired at this version
		return Stale
	}
}
