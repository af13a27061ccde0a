package world

import (
	"github.com/atoll-sim/atoll/internal/engine"
)

// Status is the state of a handle.
type Status engine.Status

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
	// Alive: the entity is stored. A dying entity is alive until the refresh for all but its
	// owner.
	Alive
	// Dying: the entity was destroyed and will be removed at the refresh. Only the shard that owns
	// it gets this status.
	Dying
	// Stale: it was alive once.
	Stale
)

// String returns the status as a lower-case word.
func (s Status) String() string { return engine.Status(s).String() }

// Event is a kind of event of entities for which hooks are called; or several, joined by |.
type Event engine.Event

// The events, in the order in which hooks are called for them.
const (
	// OnCreate is for entities that were created with all of the hook's components.
	OnCreate Event = 1 << iota
	// OnRemove is for entities that had all of the components and no longer do. The values are
	// gone.
	OnRemove
	// OnAdd is for entities that now have all of the components and did not before.
	OnAdd
	// OnSet is for entities that have all of the components and in which one of them was replaced:
	// by Set, or by Add of a component that they had. It does not report writes through a Writer or
	// an EntityContext; use Query.ChunksSince for these.
	OnSet
	// OnDestroy is for entities that have all of the components and die in this refresh. The
	// components hold their last values.
	OnDestroy
)

// String returns the event's name, or the names of several.
func (e Event) String() string { return engine.Event(e).String() }
