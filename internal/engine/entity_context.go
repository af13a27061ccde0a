package engine

import (
	"fmt"
	"reflect"
	"runtime/debug"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// EntityContext is what a function acts through: on the entity that it was called on, at once; on
// the rest of the world by requests, which the next refresh applies. See package world.
type EntityContext struct {
	entityContextSelf
	c        *Context
	function string
	h        handle.Handle
	l        slots.Loc // 0: no function is running
	returned bool
}

func (s *EntityContext) begin(c *Context, function string, h handle.Handle, l slots.Loc) *EntityContext {
	*s = EntityContext{c: c, function: function, h: h, l: l}
	return s
}

// over ends the call.
func (s *EntityContext) over() { s.l = 0 }

// end ends a call in a refresh, of what PanicError.In calls in; v is the recovered value. It returns
// the panic if the refresh keeps that.
func (s *EntityContext) end(in string, v any) (queue.Outcome, *Panic) {
	s.over()
	if s.returned {
		return queue.Applied, nil
	}
	s.c.w.panicked.Store(true)
	if !s.c.w.keepsFailure(len(s.c.failures)) {
		s.c.omitted++
		return queue.Failed, nil
	}
	if v == nil {
		v = aside.ErrGoexit
	}
	e := newPanic(&Panic{
		In: in, Name: s.function, On: s.h, Shard: s.c.Shard(), Tick: s.c.Tick(), Value: v, Stack: debug.Stack(),
	})
	s.c.failures = append(s.c.failures, e)
	return queue.Failed, e
}

func (s *EntityContext) world() *World {
	if s == nil || s.c == nil {
		return nil
	}
	return s.c.w
}

// Handle returns the entity's handle.
func (s *EntityContext) Handle() handle.Handle { return s.h }

// Tick returns the number of the tick that ends, or, when an idle world calls the function, of the
// next tick. See package world.
func (s *EntityContext) Tick() uint64 { return s.c.Tick() }

// Shard returns the number of the shard the function runs on.
func (s *EntityContext) Shard() int { return s.c.Shard() }

// Alive reports whether an entity is alive. See package world.
func (s *EntityContext) Alive(h handle.Handle) bool {
	if s.c.isElsewhere(h) { // staged ones were created by functions there
		return s.c.w.space.Alive(h)
	}
	return s.c.w.space.Present(h)
}

// Status returns what a handle stands for. See package world.
func (s *EntityContext) Status(h handle.Handle) Status {
	switch {
	case h == s.h && s.c.w.space.Marked(s.mustRun("EntityContext.Status")):
		return Dying
	case s.Alive(h):
		return Alive
	}
	if status := statusInTick(s.c.w, h); status != Pending || !s.c.isElsewhere(h) {
		return status
	}
	return Unused // another shard has just created it
}

// Destroy marks the function's entity, or requests that another entity be destroyed. See package
// world.
func (s *EntityContext) Destroy(h handle.Handle) error {
	if l := s.mustRun("EntityContext.Destroy"); h == s.h {
		s.c.w.space.Mark(l)
		return nil
	}
	if !s.Alive(h) {
		return ErrStale
	}
	return s.c.out.sendBare(queue.Destroying(), h)
}

// mustRun returns the entity's location, and panics when the function has returned.
func (s *EntityContext) mustRun(call string) slots.Loc {
	if s == nil || s.l == 0 {
		s.panicLate(call)
	}
	return s.l
}

//go:noinline
func (s *EntityContext) panicLate(call string) {
	if s == nil {
		panic(fmt.Sprintf("world: %s of a nil EntityContext; pass the one that the function is given", call))
	}
	panic(fmt.Sprintf("world: %s after function %q returned; an EntityContext is for the running function alone", call, s.function))
}

// AddFunction reserves a name for a function or a question.
func (w *World) AddFunction(call, name string, isNil bool, arg reflect.Type) {
	mustBe(w, call)
	w.mustIdle(call)
	w.MustRegister("%s of %q", call, name)
	if name == "" {
		panic(fmt.Sprintf("world: %s needs a name; pass one that logs can use", call))
	}
	if isNil {
		panic(fmt.Sprintf("world: %s of %q with a nil function; pass one to call", call, name))
	}
	if w.functions[name] {
		panic(fmt.Sprintf("world: function name %q is taken; pass another", name))
	}
	mustMove(arg, "argument of function %q", name)
	if w.functions == nil {
		w.functions = map[string]bool{}
	}
	w.functions[name] = true
}

// RequestedBy returns what a *world.Func or *world.Question embeds: its calls are requests of a kind.
func (w *World) RequestedBy(name string, kind *queue.Kind) Requested { return Requested{w, name, kind} }

// Check panics unless an actor acts on this world; the rest says what it is used for.
func (w *World) Check(by Self, call, what, name string) {
	if by == nil || by.world() != w {
		w.panicForeign(by, call, what, name)
	}
}

// Call is a call of a function on the idle world.
type Call struct {
	Self  EntityContext
	outer string // the function that calls it
}

// Begin begins a call on an entity. It returns ErrStale, or the error of a closed world.
func (x *Call) Begin(w *World, function string, on handle.Handle) error {
	if err := w.ready("Func.Call by the World"); err != nil {
		return err
	}
	l := w.space.Locate(on)
	if l == 0 {
		return ErrStale
	}
	x.Self.begin(w.contexts[w.space.Owner(l)], function, on, l)
	x.outer = w.calling
	w.calling, w.touched = function, true
	w.open++ // calls that would move the entity's row are refused
	return nil
}

// End ends the call, also if it panics.
func (x *Call) End() {
	c := x.Self.c
	x.Self.over()
	c.w.calling = x.outer
	c.w.closeLoop()
	c.shard.PublishFlags() // at once, even if it panics
}

// BeginCall begins a call of a function in a refresh, by the worker of the shard.
func (w *World) BeginCall(s *store.Shard, function string, on handle.Handle, l slots.Loc) *EntityContext {
	c := w.contexts[s.ID()]
	return c.entity.begin(c, function, on, l)
}

// Returned notes that the function has returned.
func (s *EntityContext) Returned() { s.returned = true }

// EndCall ends a call in a refresh; v is the recovered value. It returns the *world.PanicError if the
// refresh keeps it.
func (s *EntityContext) EndCall(v any) (o queue.Outcome, failure error) {
	o, p := s.end(InFunction, v)
	if p != nil {
		failure = p.Err
	}
	return o, failure
}

// Ask makes an answer's Completion get the outcome of the next request, and accepts that.
func (p *Port) Ask(done *Completion, k *queue.Kind, of handle.Handle) (Sending, error) {
	return p.notifyAnswer(done).request(k, of)
}
