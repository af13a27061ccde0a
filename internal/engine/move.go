package engine

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/store"
)

// Move moves an entity to another shard: at once by the idle world, by request of other actors.
// After an error nothing has changed.
func Move(by Self, h handle.Handle, to int) error {
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
	case *Port:
		return by.sendBare(q, h)
	case *Tx:
		return by.moveIn(h, to)
	}
	out := outboxOf(by, "world.Move")
	if !by.Alive(h) {
		return ErrStale
	}
	return out.sendBare(q, h)
}

// move is Move by the World: at once. After an error, such as that the shard has no room, the
// entity is where it was.
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
	w.Touched()
	w.engine.Mail.Misrouted = true
	return to.Migrate(l)
}

// Owner returns the shard that holds the entity of the idle world, and whether the entity is alive.
func (w *World) Owner(h handle.Handle) (shard int, ok bool) {
	w.MustBeAsked("World.Owner")
	return w.ShardOf(h)
}

// Owner is World.Owner for a running system. The answer is good until the refresh.
func (c *Context) Owner(h handle.Handle) (shard int, ok bool) {
	c.mustRun("Context.Owner")
	if l := c.locate(h); l != 0 {
		return c.w.space.Owner(l), true
	}
	return 0, false
}

// ShardOf is Owner without a check of the time, for boxes of messages when a tick begins: the caller
// knows that no shard runs.
func (w *World) ShardOf(h handle.Handle) (shard int, ok bool) {
	if l := w.space.Locate(h); l != 0 {
		return w.space.Owner(l), true
	}
	return 0, false
}

// Pin keeps entities that have any of the components in their shard when shards are balanced. The
// world must be idle.
func (w *World) Pin(components ...ComponentSet) {
	w.mustIdle("World.Pin")
	w.Touched()
	w.engine.Pinned = w.engine.Pinned.Union(w.SetOf("World.Pin", components))
}
