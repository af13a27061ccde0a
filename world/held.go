package world

import (
	"fmt"
	"iter"
	"reflect"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/shard"
)

// Held is a component that an entity has, for tools that do not know its type. It is
// good until the refresh, or until the entity is moved.
type Held struct {
	w    *World
	id   int
	loc  shard.Loc
	by   *Context // who asked, or nil
	made uint64   // the tick
}

// Components yields the components that an entity has, in the order in which they were
// registered; none if it is not alive. It panics while a tick runs. It allocates only
// what Value does.
func (w *World) Components(h handle.Handle) iter.Seq[Held] {
	return func(yield func(Held) bool) {
		w.mustBeAsked("Components")
		w.held(w.space.Locate(h), nil, yield)
	}
}

// Components is World.Components for an entity of the shard; of another's it yields
// none. Nothing has to be declared for what it yields but for Value.
func (c *Context) Components(h handle.Handle) iter.Seq[Held] {
	return func(yield func(Held) bool) {
		c.mustRun("Components")
		if l := c.w.space.Locate(h); l != 0 && c.owns(l) {
			c.w.held(l, c, yield)
		}
	}
}

func (w *World) held(l shard.Loc, by *Context, yield func(Held) bool) {
	if l == 0 {
		return
	}
	for id := range w.space.Set(l).All {
		if !yield(Held{w, id, l, by, w.Tick()}) {
			return
		}
	}
}

// Name returns the name under which the component was registered.
func (x Held) Name() string { return x.w.components[x.id].name }

// Type returns the component's type.
func (x Held) Type() reflect.Type { return x.w.components[x.id].typ }

// Readable reports whether Value may be called: in a system, whether it has asked its
// Build to read or write the component.
func (x Held) Readable() bool {
	return x.by == nil || x.by.access.Reads.Has(x.id) || x.by.access.Writes.Has(x.id)
}

// Value returns a copy of the component, of the type that Type returns. It allocates. In
// a system it panics about a component that the system has not asked to read.
func (x Held) Value() any {
	x.mustBeGood("Value")
	if !x.Readable() {
		panic(fmt.Sprintf("world: %s reads component %q without having asked for it; call world.Read[%v](b) in its constructor",
			x.by.who(), x.Name(), x.Type()))
	}
	return shard.ValueAt(x.w.columns[x.id], x.loc)
}

func (x Held) mustBeGood(call string) {
	if check.Enabled {
		x.w.mustBeIn(x.made)
	}
	if x.by == nil {
		x.w.mustIdle("Held." + call)
	} else {
		x.by.mustRun("Held." + call)
	}
}
