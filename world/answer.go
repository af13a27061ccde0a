package world

import (
	"context"
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// Answer is a Completion that also gets a value: what a refresh read or a
// question returned.
//
//	var health world.Answer[Health]
//	if err := healths.Ask(port, h, &health); err == nil {
//		v, err := health.Get(ctx)
//	}
//
// The zero value is ready to use. Everything else is as for Completion.
type Answer[T any] struct {
	Completion
	value   T           // written by the worker that applies the request; good once the outcome is Applied
	failure *PanicError // for the outcome Failed, if the refresh kept it
}

// Value returns the answer, or false if there is none: the outcome is not known yet, or is not
// Applied. Safe from any goroutine, until the Answer is used for another request.
func (a *Answer[T]) Value() (T, bool) {
	if a.Outcome() == Applied {
		return a.value, true
	}
	return *new(T), false
}

// Get waits for the answer. It returns the context's error if the context ends first, ErrStale
// for the outcome Gone, ErrMissing for Missing, ErrRefused for Refused, ErrFailed for Failed,
// ErrClosed for Closed, ErrBroken for Broken. The ErrFailed of a question also wraps the
// *PanicError, with the function's name and what it panicked with, if the refresh kept that error;
// see World.Failure.
//
// An entity that is marked when the refresh reaches the request counts as gone, even if a system
// has marked it in the same tick.
//
// After the context's error the request is still under way, and will be applied; see
// Completion.Wait, also for waiting when no more ticks come.
func (a *Answer[T]) Get(ctx context.Context) (T, error) {
	o, err := a.Wait(ctx)
	if err == nil {
		err = errorOf(o)
	}
	if o == Failed && a.failure != nil {
		err = fmt.Errorf("%w: %w", err, a.failure)
	}
	if err != nil {
		return *new(T), err
	}
	return a.value, nil
}

// Ask asks for a copy of an entity's component, as it is when the refresh reaches the request:
// earlier requests of the same port are done, and later ones are not. What the component points to,
// such as the elements of a slice, the copy shares with the world, unless the component has a
// CloneBy. Ask returns ErrFull if the request was not accepted. The outcome is Gone or Missing if
// there is nothing to copy, and Failed if the function of CloneBy panicked. It is Refused if this
// port has already asked the entity's shard, for this refresh, for 16 MB of components that have
// 4 KB or more each; see docs/limits.md.
func (c *Component[T]) Ask(p *Port, of handle.Handle, answer *Answer[T]) error {
	if answer == nil {
		panic(c.core.nilAnswer())
	}
	x, err := c.core.ask(p, of, &answer.Completion)
	if err == nil {
		answer.value = *new(T) // otherwise a CloneBy might reuse what the sender was given before
		*mem.As[*Answer[T]](x.to) = answer
		x.done()
	}
	return err
}

func (c *component) nilAnswer() string {
	return fmt.Sprintf("world: Component.Ask of %q with a nil Answer; pass one to fill", c.name())
}

func (c *component) ask(p *Port, of handle.Handle, done *Completion) (sending, error) {
	c.check(p, "Component.Ask")
	return p.notifyAnswer(done).request(&c.asking, of)
}

// asker applies a request to ask at the refresh.
type asker struct{ c *component }

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

// clone copies a value by the function of CloneBy, which may panic.
func (a asker) clone(s *store.Shard, h handle.Handle, l slots.Loc, to, from mem.Address) (o queue.Outcome) {
	c := a.c.w.contexts[s.ID()]
	self := c.self.begin(c, a.c.name(), h, l)
	defer func() {
		var e *PanicError
		if o, e = self.end(recover()); e != nil {
			e.In = inClone
		}
	}()
	a.c.column.CopyOut(to, from)
	self.returned = true
	return queue.Applied
}

// notifyAnswer makes an answer's Completion get the outcome of the next request.
func (p *Port) notifyAnswer(c *Completion) *Port {
	if p.notify != nil {
		panic(fmt.Sprintf("world: Port.Notify before Component.Ask or Question.Ask on port %d; leave Notify out: the Answer has the outcome", p.endpoint.Number))
	}
	return p.Notify(c)
}
