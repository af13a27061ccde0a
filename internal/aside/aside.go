// Package aside calls the user's code so that it cannot do harm: a panic, or a call of
// runtime.Goexit, ends neither the process nor the goroutine that calls.
package aside

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
)

// ErrGoexit is the value of code that neither returned nor panicked.
var ErrGoexit = errors.New("it called runtime.Goexit, as a test that fails does")

// Caller calls a function on a goroutine of its own, and waits for it. It is used again and again,
// and then allocates nothing.
//
// Ownership: the calling goroutine, which waits for the other.
type Caller struct {
	Value any    // what it panicked with; nil if it ended its goroutine
	Stack []byte // where it panicked

	run   func() // bound once: a closure made at each call would be garbage
	wait  sync.WaitGroup
	ended bool // the code returned
}

// Bind sets the function. The owner calls it before the first Call.
func (c *Caller) Bind(f func()) {
	c.run = func() {
		defer c.wait.Done()
		defer func() {
			if !c.ended {
				if c.Value = recover(); c.Value != nil {
					c.Stack = debug.Stack()
				}
			}
		}()
		f()
		c.ended = true
	}
}

// Call calls the function and reports whether it returned. If it did not, Value and Stack say why.
// Meanwhile the caller waits, so f may use all that is the caller's.
func (c *Caller) Call() (returned bool) {
	c.ended, c.Value, c.Stack = false, nil, nil
	c.wait.Add(1)
	go c.run()
	c.wait.Wait()
	return c.ended
}

// Error says that code did not return.
type Error struct {
	What  string // what was called
	Value any    // what it panicked with, or ErrGoexit
	Stack []byte // where it panicked
}

// Error says what did not return, and why.
func (e *Error) Error() string { return fmt.Sprintf("%s panicked: %v", e.What, e.Value) }

// Unwrap returns the panic's value if it was an error. Otherwise it returns nil.
func (e *Error) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Do calls a function on a goroutine of its own, and waits for it. It returns the function's error,
// or an *Error with the name of what was called. Any goroutine may call it; what the function
// changed before it panicked stays changed.
func Do(what string, f func() error) (err error) {
	var c Caller
	c.Bind(func() { err = f() })
	if c.Call() {
		return err
	}
	e := &Error{what, c.Value, c.Stack}
	if e.Value == nil {
		e.Value = ErrGoexit
	}
	return e
}

// Recovered returns the error of Do for code that did not return, if a goroutine runs nothing else.
// Call it in a deferred function, with what recover has returned.
func Recovered(what string, v any) *Error {
	if v == nil {
		v = ErrGoexit
	}
	return &Error{what, v, debug.Stack()}
}

// Stack returns the stack in the error of Do as arguments of a Logger, or nothing.
func Stack(err error) []any {
	if e := (*Error)(nil); errors.As(err, &e) {
		return []any{"stack", string(e.Stack)}
	}
	return nil
}

// Out gets what nobody else hears of. Tests replace it.
var Out io.Writer = os.Stderr

// Report writes the error of Do to standard error, with the stack. It is for code whose caller has
// no way to return it. Any goroutine may call it.
func Report(err error) {
	_, _ = fmt.Fprintln(Out, append([]any{"atoll:", err}, Stack(err)...)...) // there is no one left to tell
}

// Log logs a record if there is a Logger. It reports a handler that does not return. Any goroutine
// may call it; the handler runs on another, which it waits for.
func Log(l *slog.Logger, level slog.Level, message string, args ...any) {
	if l == nil {
		return
	}
	err := Do("the handler of a Logger", func() error {
		l.Log(context.Background(), level, message, args...)
		return nil
	})
	if err != nil {
		Report(err)
	}
}
