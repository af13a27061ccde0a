package world

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// componentInfo describes a component type.
type componentInfo struct {
	name   string
	typ    reflect.Type
	cloned bool // by Component.CloneBy
}

// Component is a registered component type: the right to ask entities for it.
// Safe for concurrent use.
type Component[T any] struct {
	w        *World
	id       int
	column   *store.Column[T]
	setting  queue.Kind[T]
	adding   queue.Kind[T]
	removing queue.Kind[struct{}]
	asking   queue.Kind[*Answer[T]]
}

// Register makes T a component of the world under a name that logs, tools and saved states use.
// A component is any Go type; one without pointers costs the garbage collector nothing. The
// world must be idle: before the first tick, or between two. A world that is to be compared
// with another, or that replays the log of another, must register the same components in the
// same order, before the same tick.
//
// It panics if the name is empty, if the type or name is registered already, or if there are
// 256 components already.
func Register[T any](w *World, name string) *Component[T] {
	mustBe(w, "world.Register")
	w.mustIdle("world.Register")
	t := reflect.TypeFor[T]()
	switch {
	case name == "":
		panic(fmt.Sprintf("world: component %v needs a name; pass one that logs and saved states can use", t))
	case len(w.components) == store.ComponentsMax:
		panic(fmt.Sprintf("world: component %q is one more than the %d a world can hold; register fewer, or put several into one struct", name, store.ComponentsMax))
	}
	if id, ok := w.componentID[t]; ok {
		panic(fmt.Sprintf("world: component type %v is registered already, as %q; use what the first call returned, or make a type of its own", t, w.components[id].name))
	}
	for _, c := range w.components {
		if c.name == name {
			panic(fmt.Sprintf("world: component name %q is taken by %v; pass another", name, c.typ))
		}
	}
	id := len(w.components)
	w.components = append(w.components, componentInfo{name: name, typ: t})
	w.componentID[t] = id
	column := store.NewColumn[T](w.space)
	c := &Component[T]{w: w, id: id, column: column}
	c.setting = store.NewKind[T](w.space, setter[T]{c})
	c.adding = store.NewKind[T](w.space, adder[T]{c})
	c.removing = store.NewKind[struct{}](w.space, remover[T]{c})
	c.asking = store.NewKind[*Answer[T]](w.space, asker[T]{c})
	return c
}

func (c *Component[T]) name() string { return c.w.components[c.id].name }

// Set stores v. A *World, a *Context in its own shard, and an *EntityContext in its own entity
// store at once. For other entities, and by a *Port, Set is a request that the refresh applies.
//
// It returns ErrStale if the entity is known not to be alive, ErrMissing if it
// is known to lack the component, ErrFull if the request was not accepted. A
// *Context must have asked its Build to Write the component.
func (c *Component[T]) Set(by Actor, h handle.Handle, v T) error {
	c.check(by, "Component.Set")
	switch by := by.(type) {
	case *World:
		if err := by.ready("Component.Set by the World"); err != nil {
			return err
		}
		l := by.space.Locate(h)
		if l == 0 {
			return ErrStale
		}
		return c.store(l, v)
	case *Context:
		by.mustRun("Component.Set")
		l := by.w.space.Locate(h)
		switch {
		case l == 0:
			return ErrStale
		case !by.owns(l):
			return send(&by.out, &c.setting, h, nil, v)
		}
		by.mustWrite(c.id, "Component.Set")
		return c.store(l, v)
	case *EntityContext:
		if l := by.mustRun("Component.Set"); h == by.h {
			return c.store(l, v)
		}
	}
	return request(by, "Component.Set", &c.setting, h, v)
}

// SetN is Set for each of some entities, with values in the order of the handles. A *Port sends the
// requests in one step, all or none; to a queue and its limits they are as many as there are
// handles. A Completion of Port.Notify learns Applied if all were applied, otherwise the first
// other outcome in their order. With any other actor, what is before an error is set, and the
// error says how many. It returns ErrFull if a port's queue has no room for all, and ErrTooLarge
// if it never has. It panics if the slices differ in length. SetN keeps nothing of them.
func (c *Component[T]) SetN(by Actor, hs []handle.Handle, values []T) error {
	if len(hs) != len(values) {
		turnDownBy(by)
		panic(fmt.Sprintf("world: Component.SetN of %q: %d handles and %d values; want a value for each handle", c.name(), len(hs), len(values)))
	}
	if p, ok := by.(*Port); ok {
		c.check(by, "Component.SetN")
		return portSendN(p, &c.setting, hs, values)
	}
	if len(hs) == 0 {
		return c.mayAct(by, "Component.SetN")
	}
	for i, h := range hs {
		if err := c.Set(by, h, values[i]); err != nil {
			return fmt.Errorf("%w (after %d of %d)", err, i, len(hs))
		}
	}
	return nil
}

// mayAct is what a call that has nothing to do says, by an actor that is no port.
func (c *Component[T]) mayAct(by Actor, call string) error {
	c.check(by, call)
	switch by := by.(type) {
	case *World:
		return by.ready(call + " by the World")
	case *Context:
		by.mustRun(call)
	case *EntityContext:
		by.mustRun(call)
	default:
		panic(embedded(by, call))
	}
	return nil
}

func (c *Component[T]) store(l slots.Loc, v T) error {
	p := c.column.AtWrite(l)
	if p == nil {
		return ErrMissing
	}
	*p = v
	if c.column.Watched() {
		c.w.space.NoteStored(l, c.id)
	}
	return nil
}

// setter applies a request to set at the refresh.
type setter[T any] struct{ c *Component[T] }

func (s setter[T]) Apply(_ *store.Shard, _ handle.Handle, l slots.Loc, v mem.Pointer) queue.Outcome {
	p := s.c.column.AtWrite(l)
	if p == nil {
		return queue.Missing
	}
	*p = *mem.As[T](v)
	if s.c.column.Watched() {
		s.c.w.space.NoteStored(l, s.c.id)
	}
	return queue.Applied
}

// componentOf returns the number of a component type, or panics with advice on what to do; user
// names the caller.
func (w *World) componentOf(t reflect.Type, user string) int {
	id, ok := w.componentID[t]
	if !ok {
		panic(fmt.Sprintf("world: %s: %v is not a component of this world; call world.Register[%v] first", user, t, t))
	}
	return id
}

// componentNames lists the names of a set of components, for messages.
func (w *World) componentNames(set store.Set) string {
	var names []string
	for id := range set.All {
		names = append(names, strconv.Quote(w.components[id].name))
	}
	return strings.Join(names, ", ")
}
