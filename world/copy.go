package world

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
)

// Copy makes an entity with the same components as another, each copied by assignment: what they
// point to is shared. The copy is in the same shard. By a *World it is allowed within a query
// loop. By a *Context the entity must be of its shard, and the system must have declared, with
// Write or Creates, that it writes each of the entity's components. Other actors cannot copy.
//
// It returns ErrStale for a handle that is not alive, or not of the system's shard; ErrIndexes or
// ErrChunks if the world is full.
func Copy(by Actor, h handle.Handle) (handle.Handle, error) {
	mustActor(by, "world.Copy")
	switch by := by.(type) {
	case *World:
		if err := by.ready("world.Copy"); err != nil {
			return handle.None, err
		}
		l := by.lookup.Locate(h)
		if l == 0 {
			return handle.None, ErrStale
		}
		s := by.shardOf(l)
		s.Loop = by.loop
		return s.Copy(l)
	case *Context:
		by.mustRun("world.Copy")
		l := by.w.space.Locate(h)
		if l == 0 || !by.owns(l) {
			return handle.None, ErrStale
		}
		if missing := by.w.space.Set(l).Minus(by.acting.Access.Writes); missing.Len() > 0 {
			panic(fmt.Sprintf("world: %s copies an entity with %s without having asked to write it; call world.Write or b.Creates in its constructor",
				by.who(), by.w.componentNames(missing)))
		}
		return by.w.shardOf(l).Copy(l)
	}
	turnDownBy(by)
	panic(fmt.Sprintf("world: world.Copy by a %T, which cannot look at an entity's components; pass a *World or a *Context", by))
}
