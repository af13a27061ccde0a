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
// the rest of the world by requests, which the next refresh applies.
type EntityContext struct {
	entityContextSelf
	c        *Context
	function string
	h        handle.Handle
	l        slots.Loc // 0: no function is running
	returned bool
}

// begin begins a call of a function on the entity at l, and returns e. The worker of the shard
// calls it in a refresh, and Call.Begin on the idle world.
func (e *EntityContext) begin(c *Context, function string, h handle.Handle, l slots.Loc) *EntityContext {
	*e = EntityContext{c: c, function: function, h: h, l: l}
	return e
}

// over ends the call: from now on the methods of e panic.
func (e *EntityContext) over() { e.l = 0 }

// end ends a call in a refresh, on the worker of the shard. in is a value of Panic.In, and v the
// recovered value. If the function did not return, the outcome is Failed, and what it wrote stays.
// end returns the panic if the refresh keeps it.
func (e *EntityContext) end(in string, v any) (queue.Outcome, *Panic) {
	e.over()
	if e.returned {
		return queue.Applied, nil
	}
	e.c.w.panicked.Store(true)
	if !e.c.w.keepsFailure(len(e.c.failures)) {
		e.c.omitted++
		return queue.Failed, nil
	}
	if v == nil {
		v = aside.ErrGoexit
	}
	p := newPanic(&Panic{
		In: in, Name: e.function, On: e.h, Shard: e.c.Shard(), Tick: e.c.Tick(), Value: v, Stack: debug.Stack(),
	})
	e.c.failures = append(e.c.failures, p)
	return queue.Failed, p
}

// world implements Self; an EntityContext that was never given to a function has none.
func (e *EntityContext) world() *World {
	if e == nil || e.c == nil {
		return nil
	}
	return e.c.w
}

// Handle returns the entity's handle.
func (e *EntityContext) Handle() handle.Handle { return e.h }

// Tick returns the number of the tick that ends, or, when an idle world calls the function, of the
// next tick.
func (e *EntityContext) Tick() uint64 { return e.c.Tick() }

// Shard returns the number of the shard the function runs on.
func (e *EntityContext) Shard() int { return e.c.Shard() }

// Alive reports whether an entity is alive, as the worker of the shard sees it: staged entities of
// the own shard are.
func (e *EntityContext) Alive(h handle.Handle) bool {
	if e.c.isForeign(h) { // staged ones were created by functions there
		return e.c.w.space.Alive(h)
	}
	return e.c.w.space.Present(h)
}

// Status returns what a handle stands for, as the worker of the shard sees it. It returns Dying
// only for the function's own entity.
func (e *EntityContext) Status(h handle.Handle) Status {
	switch {
	case h == e.h && e.c.w.space.Marked(e.mustRun("EntityContext.Status")):
		return Dying
	case e.Alive(h):
		return Alive
	}
	if status := statusInTick(e.c.w, h); status != Pending || !e.c.isForeign(h) {
		return status
	}
	return Unused // another shard has just created it
}

// Destroy marks the function's entity, or requests that another entity be destroyed. After an error
// nothing has changed.
func (e *EntityContext) Destroy(h handle.Handle) error {
	if l := e.mustRun("EntityContext.Destroy"); h == e.h {
		e.c.w.space.Mark(l)
		return nil
	}
	if !e.Alive(h) {
		return ErrStale
	}
	return e.c.out.sendBare(queue.Destroying(), h)
}

// mustRun returns the entity's location. It panics when the function has returned.
func (e *EntityContext) mustRun(call string) slots.Loc {
	if e == nil || e.l == 0 {
		e.panicLate(call)
	}
	return e.l
}

// panicLate is the panic of mustRun, in a function of its own so that mustRun inlines.
//
//go:noinline
func (e *EntityContext) panicLate(call string) {
	if e == nil {
		panic(fmt.Sprintf("world: %s of a nil EntityContext; pass the one that the function is given", call))
	}
	panic(fmt.Sprintf("world: %s after function %q returned; an EntityContext is for the running function alone", call, e.function))
}

// AddFunction reserves a name for a function or a question of the idle world. If it panics, the
// name is not taken.
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

// RequestedBy returns what a *world.Func or *world.Question embeds when it is registered: its calls
// are requests of a kind.
func (w *World) RequestedBy(name string, kind *queue.Kind) Requested { return Requested{w, name, kind} }

// Check panics unless an actor acts on this world, and then refuses the batch of a port. The
// message says that call used a thing, such as a message, of that name.
func (w *World) Check(by Self, call, what, name string) {
	if by == nil || by.world() != w {
		w.panicForeign(by, call, what, name)
	}
}

// Call is a call of a function on the idle world, which begins with Begin and ends with End.
//
// Ownership: the world's goroutine.
type Call struct {
	Self  EntityContext
	outer string // the function that calls it
}

// Begin begins a call on an entity; End must follow. It returns ErrStale, or the error of a closed
// world: then nothing has begun.
func (c *Call) Begin(w *World, function string, on handle.Handle) error {
	if err := w.ready("Func.Call by the World"); err != nil {
		return err
	}
	l := w.space.Locate(on)
	if l == 0 {
		return ErrStale
	}
	w.Touched()
	c.Self.begin(w.contexts[w.space.Owner(l)], function, on, l)
	c.outer = w.calling
	w.calling = function
	w.open++ // calls that would move the entity's row are refused
	return nil
}

// End ends the call, also if the function panics: what that wrote stays.
func (c *Call) End() {
	in := c.Self.c
	c.Self.over()
	in.w.calling = c.outer
	in.w.closeLoop()
	in.shard.PublishFlags() // at once, even if it panics
}

// BeginCall begins a call of a function in a refresh, by the worker of the shard. EndCall ends it.
func (w *World) BeginCall(s *store.Shard, function string, on handle.Handle, l slots.Loc) *EntityContext {
	c := w.contexts[s.ID()]
	return c.entity.begin(c, function, on, l)
}

// Returned notes that the function has returned, for EndCall, in which it counts as having panicked
// otherwise.
func (e *EntityContext) Returned() { e.returned = true }

// EndCall ends a call in a refresh, by the worker of the shard; v is the recovered value. It
// returns the *world.PanicError if the refresh keeps it.
func (e *EntityContext) EndCall(v any) (o queue.Outcome, failure error) {
	o, p := e.end(InFunction, v)
	if p != nil {
		failure = p.Err
	}
	return o, failure
}

// Ask makes an answer's Completion get the outcome of the next request, and accepts that. After an
// error nothing was sent.
func (p *Port) Ask(done *Completion, k *queue.Kind, of handle.Handle) (Sending, error) {
	return p.notifyAnswer(done).request(k, of)
}
