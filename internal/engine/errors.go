package engine

import (
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// The errors of package world, which says when each is returned. errUnasked is the error for an
// answer when no request was sent for it.
var (
	ErrFull           = errors.New("world: queue is full until the next refresh")
	ErrTooLarge error = tooLargeError{}
	// ErrAway is the error of package transit.
	ErrAway     = errors.New("transit: the entity is away, on its way to another world; wait until it is back, or has arrived")
	ErrRefused  = errors.New("world: refused, as ticks would take too long; send it later")
	ErrStale    = errors.New("world: entity is not alive")
	ErrMissing  = errors.New("world: entity has no such component")
	ErrFailed   = errors.New("world: a function of the program failed")
	ErrClosed   = errors.New("world: the port, or its world, is closed")
	ErrBroken   = fmt.Errorf("%w: a panic in a refresh broke it", ErrClosed)
	ErrUnknown  = errors.New("world: the world was closed, and it is not known whether the request was done")
	ErrPorts    = errors.New("world: too many open ports")
	ErrFrames   = errors.New("world: too many frames")
	ErrIndexes  = slots.ErrIndexes
	ErrChunks   = store.ErrChunks
	ErrVersions = slots.ErrVersions

	errUnasked = errors.New("world: no request is under way")
)

// ErrorOf returns the error for a caller that waits for an answer and gets an outcome; nil for
// Applied.
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
	case Unknown:
		return ErrUnknown
	}
	return errUnasked
}

// tooLargeError is the type of ErrTooLarge, which is an ErrFull with a message of its own.
type tooLargeError struct{}

// Error says what is too large, and what to do.
func (tooLargeError) Error() string {
	return "world: too large for any queue, even an empty one; send less at a time, or raise QueueRequests or QueueBytes, or for systems OutboxRequests or OutboxBytes"
}

// Unwrap returns ErrFull.
func (tooLargeError) Unwrap() error { return ErrFull }

// Panic is a panic in code that a program has given to a world. It has the fields
// of a world.PanicError.
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

// ShowPanic makes the *world.PanicError of a Panic, and ShowBreakdown the *world.BrokenError of a
// Breakdown. Package world sets both when the program starts: errors that a program looks for have
// its types.
var (
	ShowPanic     func(*Panic) error
	ShowBreakdown func(*Breakdown) error
)

// newPanic adds the error to a Panic, and returns it.
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

	InTransaction = "transaction"
	InOutput      = "handler of output"
)

// Breakdown says what broke a world. It has the fields of a world.BrokenError.
type Breakdown struct {
	Tick   uint64
	During string
	Value  any
	Stack  []byte
	// Err is the *world.BrokenError.
	Err error
}
