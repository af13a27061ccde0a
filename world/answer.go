package world

import (
	"context"
	"fmt"

	"github.com/atoll-sim/atoll/handle"
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
// The zero value is ready. As of Completion.
type Answer[T any] struct {
	Completion
	value   T
	failure *CallError // of the outcome Failed, if it was kept
}

// Value returns the answer, or false if there is none: not yet, or the outcome is
// another than Applied.
func (a *Answer[T]) Value() (T, bool) {
	if a.Outcome() == Applied {
		return a.value, true
	}
	return *new(T), false
}

// Get waits for the answer. It returns the context's error if that ends first,
// ErrStale for the outcome Gone, ErrMissing for Missing, ErrFailed for Failed, ErrClosed
// for Closed, ErrBroken for Broken. The ErrFailed of a question also wraps the *CallError,
// with the function's name and what it panicked with, if the refresh kept that one; see
// FailuresMax.
//
// An entity that is marked when the refresh comes to the request counts as gone, also if a
// system has marked it in the same tick.
//
// After the context's error the request is still under way, and is applied; see
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

// Ask asks for a copy of an entity's component, as it is in its place among the
// requests of the refresh: what the same port sent before is done, what it sends
// later is not. It returns ErrFull if the request was not accepted. The outcome is
// Gone or Missing if there is nothing to copy.
func (c *Component[T]) Ask(p *Port, of handle.Handle, answer *Answer[T]) error {
	if answer == nil {
		panic(fmt.Sprintf("world: Component.Ask of %q with a nil Answer; pass where the answer goes", c.Name()))
	}
	c.check(p, "Component.Ask")
	return portSend(p.notifyAnswer(&answer.Completion), &c.asking, of, answer)
}

// asker is what a request to ask does at the refresh.
type asker[T any] struct{ c *Component[T] }

func (a asker[T]) Apply(_ *store.Shard, _ handle.Handle, l store.Loc, to store.Payload) store.Outcome {
	p := a.c.column.At(l)
	if p == nil {
		return store.Missing
	}
	(*store.As[*Answer[T]](to)).value = *p
	return store.Applied
}

// notifyAnswer makes an answer learn of the next request.
func (p *Port) notifyAnswer(c *Completion) *Port {
	if p.notify != nil {
		panic(fmt.Sprintf("world: Port.Notify before Component.Ask or Question.Ask on port %d; an Answer is told by itself", p.number))
	}
	return p.Notify(c)
}
