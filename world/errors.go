package world

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
)

// Errors that a caller can meet in normal running, for errors.Is.
var (
	// ErrFull is returned when a sender has as much under way as its limits
	// allow: a port by Options.QueueRequests or QueueBytes, the systems of a shard by
	// OutboxRequests or OutboxBytes. Nothing was sent and no slot was used; the next
	// refresh makes room.
	ErrFull = engine.ErrFull
	// ErrTooLarge is an ErrFull for a batch or a request that an empty queue would not accept
	// either, because it exceeds QueueRequests or QueueBytes. The error says how large it is.
	ErrTooLarge = engine.ErrTooLarge
	// ErrRefused is returned for a message, a timer of one, a function or question that ports may
	// not send now, because ticks take too long: see scheduler.Refuse. Nothing was sent, and
	// Port.Rejected counts it. Answer.Get returns it for the outcome Refused.
	ErrRefused = engine.ErrRefused
	// ErrStale is returned for a handle that is not alive. A *Port does not look, and never returns
	// it: its requests have the outcome Gone.
	ErrStale = engine.ErrStale
	// ErrMissing is returned when an entity lacks the component.
	ErrMissing = engine.ErrMissing
	// ErrFailed is returned for a question whose function panicked, for a batch in which a CreateN
	// did, and for a create whose Bundle.PlaceBy panicked or chose a shard that there is not.
	ErrFailed = engine.ErrFailed
	// ErrClosed is returned by a closed port, and by every call on a closed world that returns
	// an error.
	ErrClosed = engine.ErrClosed
	// ErrBroken is returned by a world that a panic in a refresh has broken. It is wrapped in a
	// *BrokenError, which has the cause. Such a world is closed: ErrBroken is an ErrClosed.
	ErrBroken = engine.ErrBroken
	// ErrUnknown is returned for a question that was sealed, in a world that was then closed because
	// its log could not be written: the outcome is Unknown. After a restart it is done, or not. It is
	// no ErrClosed.
	ErrUnknown = engine.ErrUnknown
	// ErrPorts is returned when as many ports are open as PortsMax allows.
	ErrPorts = engine.ErrPorts
	// ErrIndexes is returned when a shard has no index left to give.
	ErrIndexes = engine.ErrIndexes
	// ErrChunks is returned when a shard has no chunk number left to give.
	ErrChunks = engine.ErrChunks
	// ErrVersions is returned by World.Reincarnate when no versions are left for that incarnation:
	// it would begin above Options.VersionMax.
	ErrVersions = engine.ErrVersions
	// ErrTx is returned by the calls of a Tx, and by the transaction, when that has reached one of its
	// limits, which the error names; see docs/limits.md.
	ErrTx = engine.ErrTx
	// ErrNotInTx is returned by a call with a *Tx of an extension that takes no part in transactions.
	// It has done nothing.
	ErrNotInTx = engine.ErrNotInTx
	// ErrFrames is returned when as many frames are held as FramesMax allows, or when one more
	// would take more memory than FramesBytes.
	ErrFrames = engine.ErrFrames
)

// PanicError reports a panic in code that a program has given to a world or to its scheduler. What
// that code had written until then stays; the tick or the refresh was completed. A panic that could
// not be contained is a BrokenError instead.
type PanicError struct {
	In    string        // what panicked: "function", "transaction", "hook", "recorder", "system", "condition of system", "balancer", "function between ticks", "clone function", "place function", "handler of output", "Watchdog.Notify"
	Name  string        // its name; of a clone function the component; of a place function the bundle; of a recorder the method; of what has no name, nothing
	Shard int           // or AllShards, if it runs once for all of them
	Tick  uint64        // number of the tick
	On    handle.Handle // the entity that a function was called on
	Event Event         // the event that a hook was called for
	Value any           // what it panicked with
	Stack []byte        // where it panicked; a refresh keeps those of 64 hooks
}

// Error names what panicked, where, in which tick, and the panic's value.
func (e *PanicError) Error() string {
	switch e.In {
	case engine.InFunction:
		return fmt.Sprintf("world: function %q panicked on %v, on shard %d, at the end of tick %d: %v", e.Name, e.On, e.Shard, e.Tick, e.Value)
	case engine.InHook:
		return fmt.Sprintf("world: hook %q panicked %v, on shard %d, at the end of tick %d: %v", e.Name, e.Event, e.Shard, e.Tick, e.Value)
	case engine.InTransaction:
		return fmt.Sprintf("world: transaction %q panicked, at the end of tick %d: %v", e.Name, e.Tick, e.Value)
	case engine.InOutput:
		return fmt.Sprintf("world: the handler of output %q panicked, after tick %d: %v", e.Name, e.Tick, e.Value)
	case engine.InRecorder:
		return fmt.Sprintf("world: the recorder panicked in %s, at the end of tick %d: %v", e.Name, e.Tick, e.Value)
	case engine.InClone:
		if e.On != handle.None {
			return fmt.Sprintf("world: the function of CloneBy of component %q panicked on %v, on shard %d, at the end of tick %d: %v", e.Name, e.On, e.Shard, e.Tick, e.Value)
		}
		return fmt.Sprintf("world: the function of CloneBy of component %q panicked, for a frame of tick %d: %v", e.Name, e.Tick, e.Value)
	case engine.InPlace:
		return fmt.Sprintf("world: the function of PlaceBy of bundle %s panicked in tick %d: %v", e.Name, e.Tick, e.Value)
	}
	what, on := e.In, ""
	if e.Name != "" {
		what = fmt.Sprintf("%s %q", e.In, e.Name)
	}
	if e.Shard != AllShards {
		on = fmt.Sprintf(" on shard %d", e.Shard)
	}
	return fmt.Sprintf("scheduler: %s panicked%s in tick %d: %v", what, on, e.Tick, e.Value)
}

// Unwrap returns the panic's value if it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

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

// init lets package engine make errors of the types that this package has.
func init() {
	engine.ShowPanic = func(p *engine.Panic) error {
		return &PanicError{In: p.In, Name: p.Name, Shard: p.Shard, Tick: p.Tick, On: p.On, Event: Event(p.Event), Value: p.Value, Stack: p.Stack}
	}
	engine.ShowBreakdown = func(b *engine.Breakdown) error {
		return &BrokenError{Tick: b.Tick, During: b.During, Value: b.Value, Stack: b.Stack}
	}
}
