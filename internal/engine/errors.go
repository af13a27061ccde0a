package engine

import (
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// Errors that a caller can meet in normal running, for errors.Is.
var (
	// ErrFull is returned when a sender has as much under way as its limits
	// allow: a port by Options.QueueRequests or QueueBytes, the systems of a shard by
	// OutboxRequests or OutboxBytes. Nothing was sent and no slot was used; the next
	// refresh makes room.
	ErrFull = errors.New("world: queue is full until the next refresh")
	// ErrTooLarge is an ErrFull for a batch or a request that an empty queue would not accept
	// either, because it exceeds QueueRequests or QueueBytes. The error says how large it is.
	ErrTooLarge error = tooLargeError{}
	// ErrRefused is returned for a message, a timer of one, a function or question that ports may
	// not send now, because ticks take too long: see scheduler.Refuse. Nothing was sent, and
	// Port.Rejected counts it. Answer.Get returns it for the outcome Refused.
	ErrRefused = errors.New("world: refused, as ticks would take too long; send it later")
	// ErrStale is returned for a handle that is not alive. A *Port does not look, and never returns
	// it: its requests have the outcome Gone.
	ErrStale = errors.New("world: entity is not alive")
	// ErrMissing is returned when an entity lacks the component.
	ErrMissing = errors.New("world: entity has no such component")
	// ErrFailed is returned for a question whose function panicked, for a batch in which a CreateN
	// did, and for a create whose Bundle.PlaceBy panicked or chose a shard that there is not.
	ErrFailed = errors.New("world: a function of the program failed")
	// errUnasked is returned for an answer when no request was sent for it.
	errUnasked = errors.New("world: no request is under way")
	// ErrClosed is returned by a closed port, and by every call on a closed world that returns
	// an error.
	ErrClosed = errors.New("world: the port, or its world, is closed")
	// ErrBroken is returned by a world that a panic in a refresh has broken. It is wrapped in a
	// *BrokenError, which has the cause. Such a world is closed: ErrBroken is an ErrClosed.
	ErrBroken = fmt.Errorf("%w: a panic in a refresh broke it", ErrClosed)
	// ErrPorts is returned when as many ports are open as PortsMax allows.
	ErrPorts = errors.New("world: too many open ports")
	// ErrIndexes is returned when a shard has no index left to give.
	ErrIndexes = slots.ErrIndexes
	// ErrChunks is returned when a shard has no chunk number left to give.
	ErrChunks = store.ErrChunks
)

// ErrorOf returns the error for a caller that waits for an answer and gets an outcome.
func ErrorOf(o Outcome) error {
	switch o {
	case Applied:
		return nil
	case Gone:
		return ErrStale
	case Missing:
		return ErrMissing
	case Refused:
		return ErrRefused
	case Failed:
		return ErrFailed
	case Closed:
		return ErrClosed
	case Broken:
		return ErrBroken
	}
	return errUnasked
}

// tooLargeError is ErrTooLarge.
type tooLargeError struct{}

func (tooLargeError) Error() string {
	return "world: too large for any queue, even an empty one; send less at a time, or raise QueueRequests or QueueBytes, or for systems OutboxRequests or OutboxBytes"
}

func (tooLargeError) Unwrap() error { return ErrFull }

// Panic is a panic in code that a program has given to a world. Its fields are those of a
// world.PanicError.
type Panic struct {
	In    string
	Name  string
	Shard int
	Tick  uint64
	On    handle.Handle
	Event Event
	Value any
	Stack []byte
	// Err is the *world.PanicError.
	Err error

	hook *Hook
}

// ShowPanic makes the *world.PanicError of a Panic, and ShowBreakdown the *world.BrokenError of a Breakdown.
// Package world sets both when the program starts: errors that a program looks for have its types.
var (
	ShowPanic     func(*Panic) error
	ShowBreakdown func(*Breakdown) error
)

func newPanic(p *Panic) *Panic {
	p.Err = ShowPanic(p)
	return p
}

// The values of Panic.In that a world sets.
const (
	InFunction = "function"
	InHook     = "hook"
	InRecorder = "recorder"
	InClone    = "clone function"
	InPlace    = "place function"
)

// Breakdown says what broke a world. Its fields are those of a world.BrokenError.
type Breakdown struct {
	Tick   uint64
	During string
	Value  any
	Stack  []byte
	// Err is the *world.BrokenError.
	Err error
}
