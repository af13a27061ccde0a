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
	name string
	typ  reflect.Type
}

// Component is a registered component type: the right to ask entities for it. Safe for concurrent
// use.
type Component[T any] struct{ core component }

// component is the part of a Component that does not depend on T. The compiler makes all methods of
// Component again for each T, so these only move a T. The same holds for Bundle.
type component struct {
	w        *World
	id       int
	column   *store.Column
	setting  queue.Kind
	adding   queue.Kind
	removing queue.Kind
	asking   queue.Kind
	answer   uintptr // the offset of the value in an Answer
}

// Register makes T a component of the world under a name that logs, tools and saved states use. A
// component is any Go type whose values may be moved by assignment, as rows are in a refresh; one
// without pointers costs the garbage collector nothing. The world must be idle: before the first
// tick, or between two. If durable.Open is to keep the world, register before it; that holds for
// all registrations. Two worlds that are to be compared must register the same components in the
// same order, before the same tick; so must a world that replays the log of another.
//
// T must not hold a strings.Builder, a struct of package sync, a list, ring or timer of the standard
// library, or what is marked as not to be copied: hold these behind a pointer. Structs of
// sync/atomic are allowed. T must not hold a pointer to itself or a slice of an array of its own
// either, which types do not show: when the row has moved, that points to another row.
//
// It panics if the name is empty, if the type or name is registered already, if T cannot be moved,
// if there are 256 components already, or after durable.Open.
func Register[T any](w *World, name string) *Component[T] {
	c := new(Component[T])
	c.core.register(w, name, mem.TypeOf[T](), mem.TypeOf[*Answer[T]]())
	return c
}

func (c *component) register(w *World, name string, of, answer *mem.Type) {
	mustBe(w, "world.Register")
	w.mustIdle("world.Register")
	t := of.Of
	w.mustRegister("world.Register of %v as %q", t, name)
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
	mustMove(t, "component %q", name)
	id := len(w.components)
	w.components = append(w.components, componentInfo{name: name, typ: t})
	w.componentID[t] = id
	w.cores = append(w.cores, c)
	value, _ := answer.Of.Elem().FieldByName("value")
	*c = component{w: w, id: id, column: store.NewColumn(w.space, of), answer: value.Offset}
	c.setting = store.NewKind(w.space, of, setter{c})
	c.adding = store.NewKind(w.space, of, adder{c})
	c.removing = store.NewKind(w.space, nothing, remover{c})
	c.asking = store.NewKind(w.space, answer, asker{c})
}

// mustRegister panics if the world is sealed. A registration would then be in snapshots and logs,
// but the next start of the program would read those before it registers. format and values say
// what is registered. It changes the world, as a replay has what is registered from the beginning.
func (w *World) mustRegister(format string, values ...any) {
	if w.sealed != "" {
		panic(fmt.Sprintf("world: %s after %s has begun: the next start reads the world back and would not have it; register before %[2]s",
			fmt.Sprintf(format, values...), w.sealed))
	}
	w.touched = true
}

var nothing = mem.TypeOf[struct{}]()

func (c *component) name() string { return c.w.components[c.id].name }

// Set stores v. A *World, a *Context in its own shard, and an *EntityContext in its own entity
// store at once. For other entities, and by a *Port, Set is a request that the refresh applies.
//
// It returns ErrStale if the entity is known not to be alive, ErrMissing if it
// is known to lack the component, ErrFull if the request was not accepted. A
// *Context must have asked its Build to Write the component.
func (c *Component[T]) Set(by Actor, h handle.Handle, v T) error {
	x, err := c.core.set(by, h)
	if err != nil {
		return err
	}
	*mem.As[T](x.to) = v
	x.done()
	return nil
}

func (c *component) set(by Actor, h handle.Handle) (sending, error) {
	c.check(by, "Component.Set")
	switch by := by.(type) {
	case *World:
		if err := by.ready("Component.Set by the World"); err != nil {
			return sending{}, err
		}
		l := by.space.Locate(h)
		if l == 0 {
			return sending{}, ErrStale
		}
		to, err := c.row(h, l)
		by.touched = by.touched || err == nil
		return to, err
	case *Context:
		by.mustRun("Component.Set")
		l := by.locate(h)
		switch {
		case l == 0:
			return sending{}, ErrStale
		case !by.owns(l):
			return by.out.send(&c.setting, h)
		}
		by.mustWrite(c.id, "Component.Set")
		return c.row(h, l)
	case *EntityContext:
		if l := by.mustRun("Component.Set"); h == by.h {
			return c.row(h, l)
		}
	}
	return request(by, "Component.Set", &c.setting, h)
}

// SetN is Set for several entities, with values in the order of the handles. A *Port sends the
// requests in one step, all or none; its queue and limits count a request for each handle. A
// Completion of Port.Notify gets Applied if all were applied, otherwise the first other outcome in
// their order. With any other actor, too, all values are set or requested, or none. It returns
// ErrFull if a queue has no room for all requests, and ErrTooLarge if it can never
// have. It panics if the slices differ in length. SetN keeps neither slice. If two of the values
// share a map, slice or pointer, the entities share it: SetN refuses that while the world's inputs
// are recorded or replayed, as Copy does.
func (c *Component[T]) SetN(by Actor, hs []handle.Handle, values []T) error {
	if c.core.mayShare() {
		if err := c.core.mustNotShare(by, values); err != nil {
			return err
		}
	}
	x, sent, err := c.core.setN(by, hs, len(values))
	switch {
	case err != nil || len(hs) == 0:
		return err
	case sent:
		copy(mem.Slice[T](x.to.Address, len(hs)), values)
		x.done()
		return nil
	}
	for i, h := range hs {
		if err := c.Set(by, h, values[i]); err != nil {
			panic(fmt.Sprintf("world: Component.SetN of %q sets what was looked at before: %v", c.core.name(), err))
		}
	}
	return nil
}

// setN accepts the requests of a port. For other actors, which set one value after the other, it
// reports that nothing was sent.
func (c *component) setN(by Actor, hs []handle.Handle, values int) (x sending, sent bool, err error) {
	if len(hs) != values {
		turnDownBy(by)
		panic(fmt.Sprintf("world: Component.SetN of %q: %d handles and %d values; want a value for each handle", c.name(), len(hs), values))
	}
	if p, ok := by.(*Port); ok {
		c.check(by, "Component.SetN")
		x, err = p.sendN(&c.setting, hs)
		return x, true, err
	}
	return sending{}, false, c.maySetN(by, hs)
}

// maySetN returns the error of the first handle that an actor other than a *Port cannot set, or
// send a request for.
func (c *component) maySetN(by Actor, hs []handle.Handle) error {
	if err := c.mayAct(by, "Component.SetN"); err != nil {
		return err
	}
	requests := 0
	for i, h := range hs {
		if request, err := c.maySet(by, h); err != nil {
			return fmt.Errorf("%w (handle %d of %d; none is set)", err, i+1, len(hs))
		} else if request {
			requests++
		}
	}
	if requests == 0 {
		return nil
	}
	_, err := roomFor(by, "Component.SetN", &c.setting, requests)
	return err
}

// maySet returns the error that Set would, except one about room, and whether Set sends a request.
func (c *component) maySet(by Actor, h handle.Handle) (request bool, err error) {
	var l slots.Loc
	switch by := by.(type) {
	case *World:
		l = by.space.Locate(h)
	case *Context:
		l = by.locate(h)
		if l != 0 && !by.owns(l) {
			return true, nil
		}
		if l != 0 {
			by.mustWrite(c.id, "Component.SetN")
		}
	case *EntityContext:
		if h != by.h {
			if !by.Alive(h) {
				err = ErrStale
			}
			return true, err
		}
		l = by.l
	}
	switch {
	case l == 0:
		return false, ErrStale
	case c.column.At(l) == nil:
		return false, ErrMissing
	}
	return false, nil
}

// after is the error of a call that did some of what it was asked to do.
func after(err error, done, of int) error {
	return fmt.Errorf("%w (after %d of %d)", err, done, of)
}

// mayAct returns the error of a call that has nothing to do, by an actor that is no port.
func (c *component) mayAct(by Actor, call string) error {
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

// row returns where the new value of the component is stored.
func (c *component) row(h handle.Handle, l slots.Loc) (sending, error) {
	p := c.column.AtWrite(l)
	if p == nil {
		return sending{}, ErrMissing
	}
	if c.column.Watched() {
		c.w.shardOf(l).NoteStored(h, c.id)
	}
	return sending{to: mem.Pointer{Address: p}, times: timed(c.setting.Type())}, nil
}

// setter applies a request to set at the refresh.
type setter struct{ c *component }

func (s setter) Apply(in *store.Shard, h handle.Handle, l slots.Loc, v mem.Pointer) queue.Outcome {
	if !s.c.column.Store(l, v.Address) {
		return queue.Missing
	}
	if s.c.column.Watched() {
		in.NoteStored(h, s.c.id)
	}
	return queue.Applied
}

// ApplyRun implements store.Runner.
func (s setter) ApplyRun(_ *store.Shard, of store.Adjacent) (applied int) { return of.Store(s.c.id) }

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
