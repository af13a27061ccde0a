package engine

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// Flags is a set of up to 8 flags of an entity, one bit each.
type Flags = slots.Flags

// AddFlags gives an entity flags; the ones that it has stay. See setFlags.
func AddFlags(by Self, h handle.Handle, f Flags) error {
	return setFlags(by, "world.AddFlags", h, flagging{set: f})
}

// RemoveFlags takes flags from an entity, if it has them. See setFlags.
func RemoveFlags(by Self, h handle.Handle, f Flags) error {
	return setFlags(by, "world.RemoveFlags", h, flagging{cleared: f})
}

// FlagsOf returns the flags of an entity, or none if it is not alive. An actor that has the
// entity's shard sees them as they are now, others as of the last refresh.
func FlagsOf(by Self, h handle.Handle) Flags {
	mustActor(by, "world.FlagsOf")
	switch by := by.(type) {
	case *World:
		return by.space.Flags(h)
	case *Context:
		by.mustRun("world.FlagsOf")
		if l := by.w.space.Locate(h); l != 0 && by.owns(l) {
			return by.w.space.FlagsAt(l)
		}
	case *EntityContext:
		if l := by.mustRun("world.FlagsOf"); h == by.h {
			return by.c.w.space.FlagsAt(l)
		}
	case *Tx:
		return by.flagsIn(h)
	case *Port:
	default:
		panic(notFor(by, "world.FlagsOf"))
	}
	return by.world().space.Flags(h)
}

// flagging is a request to set and clear flags.
type flagging struct{ set, cleared Flags }

// flagger applies requests to set and clear flags.
type flagger struct{ flagging queue.Kind }

// newFlagger registers the requests to set flags, for a new world.
func newFlagger(w *World) *flagger {
	f := new(flagger)
	f.flagging = store.NewKind(w.space, mem.TypeOf[flagging](), f)
	return f
}

// setFlags sets and clears flags of an entity: at once if the actor has the entity's shard, else by
// request. After an error nothing has changed.
func setFlags(by Self, call string, h handle.Handle, f flagging) error {
	mustActor(by, call)
	switch by := by.(type) {
	case *World:
		if err := by.ready(call); err != nil {
			return err
		}
		l := by.space.Locate(h)
		if l == 0 {
			return ErrStale
		}
		by.Touched()
		by.space.SetFlagsNow(h, l, f.set, f.cleared)
		return nil
	case *Context:
		by.mustRun(call)
		if l := by.w.space.Locate(h); l != 0 && by.owns(l) {
			by.w.shardOf(l).SetFlags(l, f.set, f.cleared)
			return nil
		}
	case *EntityContext:
		if l := by.mustRun(call); h == by.h {
			by.c.shard.SetFlags(l, f.set, f.cleared)
			return nil
		}
	case *Tx:
		return by.flagIn(call, h, f)
	}
	to, err := Request(by, call, &by.world().flagger.flagging, h)
	if err == nil {
		*mem.As[flagging](to.To) = f
		to.Done()
	}
	return err
}

// Apply sets and clears the flags of the entity at l. The worker of the shard calls it in the step
// apply.
func (f *flagger) Apply(s *store.Shard, _ handle.Handle, l slots.Loc, p mem.Pointer) queue.Outcome {
	x := mem.As[flagging](p)
	s.SetFlags(l, x.set, x.cleared)
	return queue.Applied
}
