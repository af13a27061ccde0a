package world

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
)

// Copy makes an entity with the same components as another, each copied by assignment: what
// they point to is shared. The copy is in the same shard. It returns ErrStale for a handle that
// is not alive, ErrIndexes or ErrChunks if the world is full. It is allowed within a query
// loop.
func (w *World) Copy(h handle.Handle) (handle.Handle, error) {
	if err := w.ready("World.Copy"); err != nil {
		return handle.None, err
	}
	l := w.lookup.Locate(h)
	if l == 0 {
		return handle.None, ErrStale
	}
	s := w.shardOf(l)
	s.Loop = w.loop
	return s.Copy(l)
}

// Copy is World.Copy for an entity of the shard; for an entity of another shard it returns
// ErrStale. The system must have declared, with Write or Creates, that it writes each of the
// entity's components.
func (c *Context) Copy(h handle.Handle) (handle.Handle, error) {
	c.mustRun("Context.Copy")
	l := c.w.space.Locate(h)
	if l == 0 || !c.owns(l) {
		return handle.None, ErrStale
	}
	if missing := c.w.space.Set(l).Minus(c.access.Writes); missing.Len() > 0 {
		panic(fmt.Sprintf("world: %s copies an entity with %s without having asked to write it; call world.Write or b.Creates in its constructor",
			c.who(), c.w.componentNames(missing)))
	}
	return c.w.shardOf(l).Copy(l)
}
