package world

import (
	"runtime/debug"
	"sync"
)

// aside runs code on a goroutine of its own. User code in it may end the goroutine that it runs
// on, as a failing test does, and a refresh has to be completed all the same.
//
// Ownership: the calling goroutine, which waits for the other.
type aside struct {
	run   func() // bound once: a closure made at each refresh would be garbage
	wait  sync.WaitGroup
	ended bool   // the code returned
	value any    // what it panicked with
	stack []byte // where it panicked
}

func (a *aside) init(f func()) {
	a.run = func() {
		defer a.wait.Done()
		defer func() {
			if !a.ended {
				if a.value = recover(); a.value != nil {
					a.stack = debug.Stack()
				}
			}
		}()
		f()
		a.ended = true
	}
}

// call runs the code and reports whether it returned. If it did not, value is what it
// panicked with, or nil if it ended its goroutine.
func (a *aside) call() (returned bool) {
	a.ended, a.value, a.stack = false, nil, nil
	a.wait.Add(1)
	go a.run()
	a.wait.Wait()
	return a.ended
}

// mustCall is call for code that contains the panics of users' functions in it. It passes any
// other panic on to the caller.
func (a *aside) mustCall(w *World) {
	if !a.call() && a.value != nil {
		e := newBroken(w, "the refresh", a.value)
		e.Stack = a.stack
		panic(e)
	}
}
