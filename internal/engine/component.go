package engine

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

// Component is the part of a world.Component that does not depend on its type. The compiler makes
// all methods of a world.Component again for each T, so these only move a T. The same holds for
// Bundle.
//
// Ownership: immutable once it is registered. Safe for concurrent use.
type Component struct {
	w        *World
	id       int
	column   *store.Column
	setting  queue.Kind
	adding   queue.Kind
	removing queue.Kind
	asking   queue.Kind
	answer   uintptr // the offset of the value in an Answer
}

// Register makes a type a component of the idle world, with a column in all shards and its kinds of
// requests; answer is the type of a pointer to its Answer. If it panics, nothing is registered.
func (c *Component) Register(w *World, name string, of, answer *mem.Type) {
	mustBe(w, "world.Register")
	w.mustIdle("world.Register")
	t := of.Of
	w.MustRegister("world.Register of %v as %q", t, name)
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
	*c = Component{w: w, id: id, column: store.NewColumn(w.space, of), answer: value.Offset}
	c.setting = store.NewKind(w.space, of, setter{c})
	c.adding = store.NewKind(w.space, of, adder{c})
	c.removing = store.NewKind(w.space, nothing, remover{c})
	c.asking = store.NewKind(w.space, answer, asker{c})
}

// MustRegister notes that the idle world registers something; format and values say what. It panics
// if the world is sealed: the registration would then be in snapshots and logs, but the next start
// of the program would read those before it registers. A replay has what is registered from the
// beginning, so this counts as a change of the world.
func (w *World) MustRegister(format string, values ...any) {
	if w.sealed != "" {
		panic(fmt.Sprintf("world: %s after %s has begun: the next start reads the world back and would not have it; register before %[2]s",
			fmt.Sprintf(format, values...), w.sealed))
	}
	w.Touched()
}

// nothing is the type of the payload of a request that has none.
var nothing = mem.TypeOf[struct{}]()

// Name returns the name of the component.
func (c *Component) Name() string { return c.w.components[c.id].name }

// Set accepts the request of Component.Set, from any actor. An actor that has the row gets where
// the caller stores the value; for others a request is pushed. After an error nothing was sent, and
// nothing may be stored.
func (c *Component) Set(by Self, h handle.Handle) (Sending, error) {
	c.check(by, "Component.Set")
	switch by := by.(type) {
	case *World:
		if err := by.ready("Component.Set by the World"); err != nil {
			return Sending{}, err
		}
		l := by.space.Locate(h)
		if l == 0 {
			return Sending{}, ErrStale
		}
		by.refuseSealed()
		to, err := c.row(h, l)
		by.touched = by.touched || err == nil
		return to, err
	case *Context:
		by.mustRun("Component.Set")
		l := by.locate(h)
		switch {
		case l == 0:
			return Sending{}, ErrStale
		case !by.owns(l):
			return by.out.send(&c.setting, h)
		}
		by.mustWrite(c.id, "Component.Set")
		return c.row(h, l)
	case *EntityContext:
		if l := by.mustRun("Component.Set"); h == by.h {
			return c.row(h, l)
		}
	case *Tx:
		return c.setIn(by, h)
	}
	return Request(by, "Component.Set", &c.setting, h)
}

// SetN accepts the requests of a port, all or none. For other actors, which set one value after the
// other, it only checks that all can be set, and reports that nothing was sent. After an error
// nothing has changed.
func (c *Component) SetN(by Self, hs []handle.Handle, values int) (x Sending, sent bool, err error) {
	if len(hs) != values {
		turnDownBy(by)
		panic(fmt.Sprintf("world: Component.SetN of %q: %d handles and %d values; want a value for each handle", c.Name(), len(hs), values))
	}
	if p, ok := by.(*Port); ok {
		c.check(by, "Component.SetN")
		x, err = p.sendN(&c.setting, hs)
		return x, true, err
	}
	return Sending{}, false, c.maySetN(by, hs)
}

// maySetN returns the error of the first handle that an actor other than a *Port cannot set, or
// ErrFull if there is no room for the requests that some of them take. It sets and sends nothing.
func (c *Component) maySetN(by Self, hs []handle.Handle) error {
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
	_, err := RoomFor(by, "Component.SetN", &c.setting, requests)
	return err
}

// maySet returns the error that Set would, except one about room, and whether Set sends a request.
// It changes nothing.
func (c *Component) maySet(by Self, h handle.Handle) (request bool, err error) {
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
	case *Tx:
		switch _, err := by.touch(h); {
		case err != nil:
			return false, err
		case c.Get(by, h) == nil:
			return false, ErrMissing
		}
		return false, nil
	}
	switch {
	case l == 0:
		return false, ErrStale
	case c.column.At(l) == nil:
		return false, ErrMissing
	}
	return false, nil
}

// after is the error of a call that did some of what it was asked to do, and leaves that done.
func after(err error, done, of int) error {
	return fmt.Errorf("%w (after %d of %d)", err, done, of)
}

// mayAct refuses an actor that may not act now, or that is a port: it returns the error of a closed
// world, and panics for other reasons.
func (c *Component) mayAct(by Self, call string) error {
	c.check(by, call)
	switch by := by.(type) {
	case *World:
		return by.ready(call + " by the World")
	case *Context:
		by.mustRun(call)
	case *EntityContext:
		by.mustRun(call)
	case *Tx:
		return by.mayWrite(call)
	default:
		panic(notFor(by, call))
	}
	return nil
}

// row returns where the new value of the component is stored, and notes the write for hooks and
// frames. The caller has the shard. It returns ErrMissing if the entity lacks the component.
func (c *Component) row(h handle.Handle, l slots.Loc) (Sending, error) {
	p := c.column.AtWrite(l)
	if p == nil {
		return Sending{}, ErrMissing
	}
	if c.column.Watched() {
		c.w.shardOf(l).NoteStored(h, c.id)
	}
	return Sending{To: mem.Pointer{Address: p}, times: timed(c.setting.Type())}, nil
}

// setter applies a request to set at the refresh.
type setter struct{ c *Component }

// Apply stores a value in the row of the entity at l, if that has the component. The worker of the
// shard calls it in the step apply.
func (s setter) Apply(in *store.Shard, h handle.Handle, l slots.Loc, v mem.Pointer) queue.Outcome {
	if !s.c.column.Store(l, v.Address) {
		return queue.Missing
	}
	if s.c.column.Watched() {
		in.NoteStored(h, s.c.id)
	}
	return queue.Applied
}

// ApplyRun implements store.Runner, on the shard's worker.
func (s setter) ApplyRun(_ *store.Shard, of store.Adjacent) (applied int) { return of.Store(s.c.id) }

// componentOf returns the number of a component type, or panics with advice on what to do; user
// names the caller. The world is idle, or a Frame's.
func (w *World) componentOf(t reflect.Type, user string) int {
	id, ok := w.componentID[t]
	if !ok {
		panic(fmt.Sprintf("world: %s: %v is not a component of this world; call world.Register[%v] first", user, t, t))
	}
	return id
}

// ComponentNames lists the names of a set of components, for messages.
func (w *World) ComponentNames(set store.Set) string {
	var names []string
	for id := range set.All {
		names = append(names, strconv.Quote(w.components[id].name))
	}
	return strings.Join(names, ", ")
}

// Part returns what makes a *world.Component a ComponentSet.
func (c *Component) Part() Part {
	p := Part{w: c.w, only: c.id, what: "component", name: c.Name()}
	p.set.Add(c.id)
	return p
}

// At returns the component of the entity that a function is called on, or nil. It panics when the
// function has returned.
func (c *Component) At(s *EntityContext) mem.Address { return c.column.At(s.mustRun("Component.Read")) }

// AtWrite is At for writing: it notes the write.
func (c *Component) AtWrite(s *EntityContext) mem.Address {
	return c.column.AtWrite(s.mustRun("Component.Write"))
}

// CloneBy makes f copy values of the component. From now on Component.Ask calls f, too, so a
// request of it runs code of the user. The world must be idle.
func (c *Component) CloneBy(isNil bool, f func(to, from mem.Address)) {
	c.w.mustIdle("Component.CloneBy")
	if isNil {
		panic(fmt.Sprintf("world: Component.CloneBy of %q with a nil function", c.Name()))
	}
	c.w.space.Registry.SetCall(c.asking.Number())
	c.column.CloneBy(f)
}

// NilAnswer is the panic's text for a nil Answer.
func (c *Component) NilAnswer() string {
	return fmt.Sprintf("world: Component.Ask of %q with a nil Answer; pass one to fill", c.Name())
}

// Ask accepts a request of Component.Ask, of a port; done gets the outcome. After an error nothing
// was sent.
func (c *Component) Ask(p *Port, of handle.Handle, done *Completion) (Sending, error) {
	c.check(p, "Component.Ask")
	return p.notifyAnswer(done).request(&c.asking, of)
}

// asker applies a request to ask at the refresh.
type asker struct{ c *Component }

// Apply copies the component of the entity at l to the answer, on the worker of the shard in the
// step apply. It answers Refused, and copies nothing, if the port's answers of this refresh are too
// large.
func (a asker) Apply(s *store.Shard, h handle.Handle, l slots.Loc, to mem.Pointer) queue.Outcome {
	p := a.c.column.At(l)
	if p == nil {
		return queue.Missing
	}
	if !s.Answers(a.c.adding.Type().Size) {
		return queue.Refused
	}
	value := mem.Pointer{Address: *mem.As[mem.Address](to)}.At(1, a.c.answer)
	if a.c.w.space.Cloned(a.c.id) {
		return a.clone(s, h, l, value.Address, p)
	}
	a.c.column.CopyOut(value.Address, p)
	return queue.Applied
}

// clone copies a value to an answer by the function of CloneBy, on the shard's worker. If that
// panics, the outcome is Failed, and the answer may have a part of the value.
func (a asker) clone(s *store.Shard, h handle.Handle, l slots.Loc, to, from mem.Address) (o queue.Outcome) {
	c := a.c.w.contexts[s.ID()]
	self := c.entity.begin(c, a.c.Name(), h, l)
	defer func() { o, _ = self.end(InClone, recover()) }()
	a.c.column.CopyOut(to, from)
	self.returned = true
	return queue.Applied
}

// notifyAnswer makes an answer's Completion get the outcome of the next request. It panics if
// Port.Notify has set another.
func (p *Port) notifyAnswer(c *Completion) *Port {
	if p.notify != nil {
		panic(fmt.Sprintf("world: Port.Notify before Component.Ask or Question.Ask on port %d; leave Notify out: the Answer has the outcome", p.endpoint.Number))
	}
	return p.Notify(c)
}
