package world

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
)

// EntityContext is what a function acts through: on the entity that it was called on, at once;
// on the rest of the world by requests, which the next refresh applies.
//
//	Component.Read, Write   the entity's components
//	EntityContext.Destroy   the entity goes at this refresh; later requests find it gone
//	Component.Set           of the entity at once
//	Bundle.Create           in the shard at once; alive at once
//	everything else         by request, even on the entity itself
//
// Other entities cannot be read: their shards are at work. An EntityContext and pointers
// into components are good until the function returns.
//
// Ownership: the worker that runs the shard, while the function runs.
type EntityContext engine.EntityContext

// Handle returns the entity's handle.
func (e *EntityContext) Handle() handle.Handle { return (*engine.EntityContext)(e).Handle() }

// Tick returns the number of the tick that ends, or, when an idle world calls the function, of
// the next tick.
func (e *EntityContext) Tick() uint64 { return (*engine.EntityContext)(e).Tick() }

// Shard returns the number of the shard the function runs on.
func (e *EntityContext) Shard() int { return (*engine.EntityContext)(e).Shard() }

// Alive reports whether an entity is alive. One that a port's request or a function of this shard
// creates in this refresh is alive at once. One that the refresh destroys is alive until it ends.
// What a function creates on another shard is not alive here in the same refresh.
func (e *EntityContext) Alive(h handle.Handle) bool { return (*engine.EntityContext)(e).Alive(h) }

// Status returns what a handle stands for. It returns Dying only for the function's own entity.
// Handles of ports are as for Context.Status.
func (e *EntityContext) Status(h handle.Handle) Status {
	return Status((*engine.EntityContext)(e).Status(h))
}

// Destroy marks the function's entity, or requests that another entity be destroyed. It returns
// ErrStale for a handle that is not alive, ErrFull if the request was not accepted.
func (e *EntityContext) Destroy(h handle.Handle) error { return (*engine.EntityContext)(e).Destroy(h) }
