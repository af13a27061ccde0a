package world

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/store"
)

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
func Move(by Actor, h handle.Handle, to int) error {
	mustActor(by, "world.Move")
	w := by.world()
	if to < 0 || to >= len(w.shards) {
		turnDownBy(by)
		panic(fmt.Sprintf("world: world.Move of %v to shard %d, want 0 to %d", h, to, len(w.shards)-1))
	}
	q := queue.MovingTo(to)
	switch by := by.(type) {
	case *World:
		return by.move(h, by.shards[to])
	case *Context:
		by.mustRun("world.Move")
		if !by.Alive(h) {
			return ErrStale
		}
		return by.out.sendBare(q, h)
	case *EntityContext:
		by.mustRun("world.Move")
		if !by.Alive(h) {
			return ErrStale
		}
		return by.c.out.sendBare(q, h)
	case *Port:
		return by.sendBare(q, h)
	}
	panic(embedded(by, "world.Move"))
}

func (w *World) move(h handle.Handle, to *store.Shard) error {
	if err := w.idle("world.Move by the World"); err != nil {
		return err
	}
	l := w.lookup.Locate(h)
	switch {
	case l == 0 || w.space.Marked(l):
		return ErrStale
	case to.Owns(l):
		return nil
	}
	w.engine.Mail.Misrouted, w.touched = true, true
	return to.Migrate(l)
}

// Owner returns the shard that holds the entity, and whether the entity is alive.
func (w *World) Owner(h handle.Handle) (shard int, ok bool) {
	w.mustBeAsked("World.Owner")
	return w.owner(h)
}

// Owner is World.Owner. The answer is good until the refresh.
func (c *Context) Owner(h handle.Handle) (shard int, ok bool) {
	c.mustRun("Context.Owner")
	if l := c.locate(h); l != 0 {
		return c.w.space.Owner(l), true
	}
	return 0, false
}

func (w *World) owner(h handle.Handle) (shard int, ok bool) {
	if l := w.space.Locate(h); l != 0 {
		return w.space.Owner(l), true
	}
	return 0, false
}
