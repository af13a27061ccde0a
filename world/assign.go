package world

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// assigner applies a request to Set a bundle at the refresh.
type assigner[T any] struct{ b *Bundle[T] }

// Set stores all of the bundle's components in an entity that has them, in one step; its other
// components stay. Unlike Add it never moves the entity, so a *Context does it at once in its
// own shard, where it must have asked its Build to Write the components. For other actors as
// Component.Set.
//
// It returns ErrMissing, and stores nothing, if the entity is known to lack one of them;
// ErrStale if it is known not to be alive; ErrFull if the request was not accepted.
func (b *Bundle[T]) Set(by Actor, h handle.Handle, v T) error {
	b.check(by, "Bundle.Set")
	switch by := by.(type) {
	case *World:
		if err := by.ready("Bundle.Set by the World"); err != nil {
			return err
		}
		if l := by.lookup.Locate(h); l != 0 {
			return b.assign(by.shardOf(l), l, &v)
		}
		return ErrStale
	case *Context:
		by.mustRun("Bundle.Set")
		l := by.w.space.Locate(h)
		if l != 0 && by.owns(l) {
			for id := range b.set.All {
				by.mustWrite(id, "Bundle.Set")
			}
			return b.assign(by.w.shardOf(l), l, &v)
		}
	case *EntityContext:
		if l := by.mustRun("Bundle.Set"); h == by.h {
			return b.assign(by.c.shard, l, &v)
		}
	}
	return request(by, "Bundle.Set", &b.setting, h, v)
}

func (b *Bundle[T]) assign(s *store.Shard, l slots.Loc, v *T) error {
	set := b.w.space.Set(l)
	if !set.Contains(&b.set) {
		return ErrMissing
	}
	a, err := s.Change(l, *set) // to the components it has, so the row does not move
	if err == nil {
		b.write(s, a, v)
		b.w.space.NoteAllStored(l, b.set)
	}
	return err
}

func (x assigner[T]) Apply(s *store.Shard, _ handle.Handle, l slots.Loc, v mem.Pointer) queue.Outcome {
	return outcomeOf(x.b.assign(s, l, mem.As[T](v)))
}
