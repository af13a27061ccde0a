package world

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// Copy makes an entity with the same components as another, each copied by assignment: what they
// point to is shared. A timer.ID or async.ID in them is None in the copy. The copy is in the same
// shard. By a *World it is allowed within a query loop. By a *Context the entity must be of its
// shard, and the system must have declared, with Write or Creates, that it writes each of the
// entity's components. Other actors cannot copy.
//
// It returns ErrStale for a handle that is not alive, or not of the system's shard; ErrIndexes or
// ErrChunks if the world is full.
func Copy(by Actor, h handle.Handle) (handle.Handle, error) {
	const call = "world.Copy"
	if err := mayCopy(by, call); err != nil {
		return handle.None, err
	}
	l, err := copied(by, h)
	if err != nil {
		return handle.None, err
	}
	w := by.world()
	w.copies(by)
	return w.shardOf(l).Copy(l)
}

// mayCopy refuses an actor that cannot copy.
func mayCopy(by Actor, call string) error {
	mustActor(by, call)
	switch by := by.(type) {
	case *World:
		return by.ready(call)
	case *Context:
		by.mustRun(call)
		return nil
	}
	turnDownBy(by)
	panic(fmt.Sprintf("world: %s by a %T, which cannot look at an entity's components; pass a *World or a *Context", call, by))
}

// copies notes that an actor is about to copy.
func (w *World) copies(by any) {
	if by == any(w) {
		w.touched = true
	}
}

// copied returns the location of an entity that is to be copied.
func copied(by Actor, h handle.Handle) (slots.Loc, error) {
	w := by.world()
	l := w.space.Locate(h)
	c, system := by.(*Context)
	switch {
	case l == 0 || system && !c.owns(l):
		return 0, ErrStale
	case !system:
		w.shardOf(l).Loop = w.loop
	default:
		if missing := w.space.Set(l).Minus(c.acting.Access.Writes); missing.Len() > 0 {
			panic(fmt.Sprintf("world: %s copies an entity with %s without having asked to write it; call world.Write or b.Creates in its constructor",
				c.who(), w.componentNames(missing)))
		}
	}
	return l, nil
}

func (d *driven) MayCopy(actor any, call string, h handle.Handle) (*store.Set, error) {
	by, _ := actor.(Actor)
	if err := mayCopy(by, call); err != nil {
		return nil, err
	}
	l, err := copied(by, h)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", err, h)
	}
	return d.space.Set(l), nil
}

func (d *driven) CopyAll(actor any, x *drive.Copying) error {
	w := d.w()
	if err := d.roomFor(actor, x); err != nil {
		return err
	}
	w.copies(actor)
	for _, h := range x.Of {
		l := w.space.Locate(h)
		s := w.shardOf(l)
		made, err := s.Copy(l)
		if err != nil {
			panic(fmt.Sprintf("world: a copy has less room than was reserved: %v", err))
		}
		if f := w.space.FlagsAt(l); f != 0 {
			s.SetFlags(w.space.Locate(made), f, 0)
			if actor == any(w) {
				s.PublishFlags()
			}
		}
		x.Made = append(x.Made, made)
	}
	return nil
}

// roomFor makes sure that there is room for copies.
func (d *driven) roomFor(actor any, x *drive.Copying) error {
	w := d.w()
	if c, ok := actor.(*Context); ok && x.Requests > 0 {
		if q := c.out.open(); !q.Room(x.Requests, x.RequestSize) {
			return c.out.refuse(q, x.Requests, x.RequestSize)
		}
	}
	if x.Tables == nil {
		x.Tables = map[*store.Table]int{}
	}
	x.Shards = append(x.Shards, make([]int, len(w.shards))...)
	for _, h := range x.Of {
		c, _ := w.space.At(w.space.Locate(h))
		x.Tables[c.Table()]++
		x.Shards[c.Table().Shard().ID()]++
	}
	for i, n := range x.Shards {
		if n == 0 { // 0: the actor may not be allowed to look at it
			continue
		}
		if err := w.shards[i].CheckLeft(n); err != nil {
			return err
		}
	}
	for _, h := range x.Of { // in this order, because the order of a map varies
		c, _ := w.space.At(w.space.Locate(h))
		t := c.Table()
		if err := t.Shard().Prepare(t, x.Tables[t]); err != nil {
			return err
		}
		x.Tables[t] = 0
	}
	return nil
}
