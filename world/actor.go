package world

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
)

// Actor is what acts on a world: a *World between ticks, a *Context within a system, an
// *EntityContext within a function, a *Tx within a transaction, a *Port from outside at any time.
type Actor interface {
	engine.Actor
	Alive(h handle.Handle) bool
	Status(h handle.Handle) Status
}

// selfOf returns what an actor is in package engine. It panics if that is a nil pointer; nil stays
// nil, for the call that refuses it.
func selfOf(by Actor) engine.Self {
	switch by := by.(type) {
	case *World:
		return (*engine.World)(by)
	case *Context:
		return (*engine.Context)(by)
	case *EntityContext:
		return (*engine.EntityContext)(by)
	case *Port:
		return (*engine.Port)(by)
	case *Tx:
		return (*engine.Tx)(by)
	case nil:
		return nil
	}
	return engine.SelfOf(by, "a call") // it embeds one of them
}

// What types of this package embed, so that package engine knows them, and programs see no more of.
type (
	part      = engine.Part
	accessor  = engine.Accessor
	requested = engine.Requested
	delivered = engine.Delivered

	term      = engine.Term
	binder    = engine.Binder
	refusable = engine.Refusable
)

// Flags is a set of up to 8 flags of an entity, one bit each. The game decides what they mean:
//
//	const (
//		Burning world.Flags = 1 << iota
//		Hidden
//	)
//
// Flags are for states that come and go, that queries look for, and that other code wants to know
// from a handle alone: setting one moves no row and needs no component. A new entity has none, and
// neither has a copy. Flags go wherever the entity goes. A world in which no entity was ever given
// a flag pays nothing for them. Otherwise they cost 8 bytes for each slot, in each block of 1024
// slots in which one was given a flag, and a bit per row and flag.
type Flags uint8

// AddFlags gives an entity flags; those that it has stay. A *World, a *Context in its own shard,
// and an *EntityContext for its own entity set them at once, even for a query loop that has not
// reached the entity's chunk yet. By other actors AddFlags is a request that the refresh applies.
// Nothing has to be declared. The result of FlagsOf for other actors changes at the refresh.
//
// It returns ErrStale if the entity is known not to be alive, ErrFull if the request was
// not accepted.
func AddFlags(by Actor, h handle.Handle, f Flags) error {
	return engine.AddFlags(selfOf(by), h, engine.Flags(f))
}

// RemoveFlags takes flags from an entity, if it has them. It acts at once or by request, and
// returns errors, as AddFlags does.
func RemoveFlags(by Actor, h handle.Handle, f Flags) error {
	return engine.RemoveFlags(selfOf(by), h, engine.Flags(f))
}

// FlagsOf returns the flags of an entity, or none if it is not alive. For an entity of the shard
// that a *Context is in, and for the own entity of an *EntityContext, they are the current flags;
// otherwise those as of the last refresh, even if systems have changed them since. By a *World or a
// *Port: safe from any goroutine at any time, three to six atomic loads, no waiting, no
// writing.
func FlagsOf(by Actor, h handle.Handle) Flags { return Flags(engine.FlagsOf(selfOf(by), h)) }

// Move moves an entity to another shard. Its handle stays valid: it names the slot, which stays at
// home, and the slot holds the location. Everything finds the entity in its new shard: accessors
// and queries, requests, and messages, even those that were sent before and are delivered by the
// same refresh. The entity keeps its components, its flags, and the order of its messages. A move
// is neither a create nor a destroy. Moving an entity to the shard that it is in does nothing.
//
// Only this entity moves. Its children in a hierarchy stay in their shard, so a system of the
// parent's new shard that looks one up by Read or Write gets nil: move them as well.
//
// A *World moves at once; within a query loop that panics. By a *Context, even for its own shard's
// entities, an *EntityContext or a *Port, Move is a request. The refresh migrates entities when all
// other requests are done. So the other requests find the entity where it was, and if several moves
// of it were requested the last one counts. An entity that a later request destroys stays where it
// is. The outcome of each of these moves is Applied all the same: it says that the move was
// accepted. World.Owner says where the entity is. The outcome is Refused if the shard that the
// entity is to go to is full, or if this port has already had 4 MB of large rows moved out of the
// entity's shard in this refresh; see docs/limits.md.
//
// It returns ErrStale if the entity is known not to be alive, or known to an idle
// world to be marked; ErrFull if the request was not accepted; ErrChunks if the
// world is full. It panics if there is no such shard.
func Move(by Actor, h handle.Handle, to int) error { return engine.Move(selfOf(by), h, to) }

// Copy makes an entity with the same components as another, each copied by Component.CloneBy, or
// without that by assignment: what they point to is shared. A timer.ID or async.ID in them is None
// in the copy. The copy is in the same shard. By a *World it is allowed within a query loop. By a
// *Context the entity must be of its shard, and the system must have declared, with Write or
// Creates, that it writes each of the entity's components. Other actors cannot copy.
//
// It returns ErrStale for a handle that is not alive, or not of the system's shard; transit.ErrAway
// for an entity that is away; ErrIndexes or ErrChunks if the world is full. While the world's
// inputs are recorded or replayed, as by a durable.Store, it returns an error if the copy would
// share a map, slice or pointer: the world that is loaded has two, and would differ when one is
// written. Give the component a CloneBy.
func Copy(by Actor, h handle.Handle) (handle.Handle, error) { return engine.Copy(selfOf(by), h) }
