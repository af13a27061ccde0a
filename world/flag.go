package world

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
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
type Flags = slots.Flags

// Flag gives an entity flags; those that it has stay. A *World, a *Context in its own shard, and an
// *EntityContext for its own entity set them at once, even for a query loop that has not reached
// the entity's chunk yet. By other actors Flag is a request that the refresh applies. Nothing has
// to be declared. The result of FlagsOf for other actors changes at the refresh.
//
// It returns ErrStale if the entity is known not to be alive, ErrFull if the request was
// not accepted.
func Flag(by Actor, h handle.Handle, f Flags) error {
	return setFlags(by, "world.Flag", h, flagging{set: f})
}

// Unflag takes flags from an entity, if it has them. It acts at once or by request, and returns
// errors, as Flag does.
func Unflag(by Actor, h handle.Handle, f Flags) error {
	return setFlags(by, "world.Unflag", h, flagging{cleared: f})
}

// FlagsOf returns the flags of an entity, or none if it is not alive. For an entity of the shard
// that a *Context is in, and for the own entity of an *EntityContext, they are the current flags;
// otherwise those as of the last refresh, even if systems have changed them since. By a *World or a
// *Port: safe from any goroutine at any time, three to six atomic loads, no waiting, no
// writing.
func FlagsOf(by Actor, h handle.Handle) Flags {
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
	case *Port:
	default:
		panic(embedded(by, "world.FlagsOf"))
	}
	return by.world().space.Flags(h)
}

// flagging is a request to set and clear flags.
type flagging struct{ set, cleared Flags }

// flagger applies it.
type flagger struct{ flagging queue.Kind }

func newFlagger(w *World) *flagger {
	x := new(flagger)
	x.flagging = store.NewKind(w.space, mem.TypeOf[flagging](), x)
	return x
}

func setFlags(by Actor, call string, h handle.Handle, f flagging) error {
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
		by.touched = true
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
	}
	to, err := request(by, call, &by.world().flagger.flagging, h)
	if err == nil {
		*mem.As[flagging](to.to) = f
		to.done()
	}
	return err
}

func (x *flagger) Apply(s *store.Shard, _ handle.Handle, l slots.Loc, p mem.Pointer) queue.Outcome {
	f := mem.As[flagging](p)
	s.SetFlags(l, f.set, f.cleared)
	return queue.Applied
}

// WithFlags is the condition that the entity has all of the flags. A query with it skips rows
// without them, 64 at a time, and yields each run of the others as a chunk. It panics if f is
// empty.
func WithFlags(a Binder, f Flags) Term { return ofFlags(a, "world.WithFlags", requiresFlags, f) }

// WithoutFlags is the condition that the entity has none of the flags. Everything else is as for
// WithFlags.
func WithoutFlags(a Binder, f Flags) Term { return ofFlags(a, "world.WithoutFlags", excludesFlags, f) }

func ofFlags(a Binder, call string, kind termKind, f Flags) term {
	b := bind(a, call)
	if f == 0 {
		panic(fmt.Sprintf("world: %s of no flags; name one or more", b.call))
	}
	return term{kind: kind, asked: b.lookup, flags: f, names: fmt.Sprintf("flags %#b", f)}
}

// addFlags makes the flags of a term a condition of the query.
func (q *Query) addFlags(b *binding, t term) {
	if twice := t.flags & (q.filter.With | q.filter.Without); twice != 0 {
		panic(fmt.Sprintf("world: %s: flags %#b are named twice; name each once", b.call, twice))
	}
	if t.kind == requiresFlags {
		q.filter.With |= t.flags
	} else {
		q.filter.Without |= t.flags
	}
}
