package world

import (
	"fmt"
	"runtime/debug"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
)

// EntityContext is what a function acts through: on the entity that it was called on, at once;
// on the rest of the world by requests, which the next refresh applies.
//
//	Component.Read, Write   the entity's components
//	EntityContext.Destroy   the entity goes at this refresh; later requests find it gone
//	Component.Set           of the entity at once
//	Bundle.Create           in the shard at once; alive at once
//	everything else         by request, even on the entity itself
//
// Other entities cannot be read: their shards are at work. An EntityContext and pointers
// into components are good until the function returns.
//
// Ownership: the worker that runs the shard, while the function runs.
type EntityContext struct {
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

// end ends a call in a refresh; v is the recovered value. It returns the panic as an error if the
// refresh keeps that.
func (s *EntityContext) end(v any) (queue.Outcome, *PanicError) {
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
	e := &PanicError{
		In: inFunction, Name: s.function, On: s.h, Shard: s.c.Shard(), Tick: s.c.Tick(), Value: v, Stack: debug.Stack(),
	}
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

// Tick returns the number of the tick that ends, or, when an idle world calls the function, of
// the next tick.
func (s *EntityContext) Tick() uint64 { return s.c.Tick() }

// Shard returns the number of the shard the function runs on.
func (s *EntityContext) Shard() int { return s.c.Shard() }

// Alive reports whether an entity is alive. One that a port's request or a function of this shard
// creates in this refresh is alive at once. One that the refresh destroys is alive until it ends.
// What a function creates on another shard is not alive here in the same refresh.
func (s *EntityContext) Alive(h handle.Handle) bool {
	if s.c.isElsewhere(h) { // staged ones were created by functions there
		return s.c.w.space.Alive(h)
	}
	return s.c.w.space.Present(h)
}

// Status returns what a handle stands for. It returns Dying only for the function's own entity.
// Handles of ports are as for Context.Status.
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

// Destroy marks the function's entity, or requests that another entity be destroyed. It returns
// ErrStale for a handle that is not alive, ErrFull if the request was not accepted.
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

// Read returns the component of the entity that a function is called on, or nil if the entity
// lacks it. The component must not be written, and is good until the function returns.
func (c *Component[T]) Read(self *EntityContext) *T {
	return (*T)(c.core.column.At(self.mustRun("Component.Read")))
}

// Write is Read for writing.
func (c *Component[T]) Write(self *EntityContext) *T {
	return (*T)(c.core.column.AtWrite(self.mustRun("Component.Write")))
}
