package world

import (
	"context"
	"fmt"

	"github.com/atoll-sim/atoll/internal/engine"
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
	value   T     // written by the worker that applies the request; good once the outcome is Applied
	failure error // for the outcome Failed a *PanicError, if the refresh kept it; for Refused the error of a transaction
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
		err = engine.ErrorOf(engine.Outcome(o))
	}
	switch { // the failure is known with the outcome, and not if the context ended first
	case o == Failed && a.failure != nil:
		err = fmt.Errorf("%w: %w", err, a.failure)
	case o == Refused && a.failure != nil:
		err = a.failure
	}
	if err != nil {
		return *new(T), err
	}
	return a.value, nil
}
