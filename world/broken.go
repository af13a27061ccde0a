package world

import (
	"fmt"
	"runtime/debug"

	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/refresh"
)

// BrokenError says what broke a world: a panic, in a refresh or when a tick began, after changes
// that cannot be undone. Functions, hooks and recorders that panic do not break a world; an
// extension does, because it is in the middle of a change.
//
// A broken world is closed, as by World.Close, but without a last refresh: all handles are dead,
// memory is given back, and all requests whose senders wait get the outcome Broken, because it is
// not known whether they were done. If the refresh had done all requests by then, they get their
// own.
type BrokenError struct {
	Tick   uint64
	During string // what panicked
	Value  any    // what it panicked with
	Stack  []byte // where it panicked; nil for a load that failed
}

// Error names what panicked, the tick and the panic's value.
func (e *BrokenError) Error() string {
	if e.Stack == nil {
		return fmt.Sprintf("world: broken by %s: %v", e.During, e.Value)
	}
	return fmt.Sprintf("world: broken by a panic in %s, at the end of tick %d: %v", e.During, e.Tick, e.Value)
}

// Unwrap returns ErrBroken, and the panic's value if it was an error.
func (e *BrokenError) Unwrap() []error {
	if err, ok := e.Value.(error); ok {
		return []error{ErrBroken, err}
	}
	return []error{ErrBroken}
}

// Err returns nil while the world can be used, a *BrokenError if it is broken, or ErrClosed
// if it is closed. Safe from any goroutine at any time.
func (w *World) Err() error {
	if e := w.cause.Load(); e != nil {
		return e
	}
	if w.engine.Closed.Load() {
		return ErrClosed
	}
	return nil
}

func newBroken(w *World, during string, value any) *BrokenError {
	if value == nil {
		value = aside.ErrGoexit
	}
	return &BrokenError{Tick: w.engine.Tick.Load(), During: during, Value: value, Stack: debug.Stack()}
}

// asBroken is newBroken for a value recovered in a refresh.
func asBroken(w *World, v any) *BrokenError {
	p, ok := v.(*refresh.Panic)
	if !ok {
		return newBroken(w, w.engine.Extensions.During(), v)
	}
	e := newBroken(w, p.During, p.Value)
	e.Stack = p.Stack
	return e
}

// fail breaks the world, unless it is broken.
//
// Ownership: the goroutine that has taken the world; no other goroutine works on it any more.
func (w *World) fail(e *BrokenError) {
	if !w.cause.CompareAndSwap(nil, e) {
		return
	}
	w.phase.Store(phaseOver)
	w.frames.close(e)
	w.capturing = nil
	w.engine.Closed.Store(true) // before the queues are emptied: senders look here after they have sent
	w.engine.Abandon()
	w.engine.Extensions.Drop()
	w.engine.Record(nil)
	w.parts, w.changed = nil, nil
	w.dropHooks()
	w.space.EndAll()
	w.drop()
	if check.Enabled {
		w.turn.Begin(idleTurn) // accessors of a closed world may be used: they find nothing
	}
}

// guard breaks the world if the function that defers it does not complete. It then panics again,
// with the *BrokenError.
func (w *World) guard(done *bool) {
	if *done {
		return
	}
	v := recover()
	e := asBroken(w, v)
	w.fail(e)
	if v != nil { // nil: the goroutine ends anyway
		panic(e)
	}
}
