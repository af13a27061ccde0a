package world

import (
	"runtime/debug"
	"sync"
)

// aside runs code on a goroutine of its own, because code of the user's in it may end the
// one that it runs on, as a test that fails does, and a refresh has to be completed.
//
// Ownership: who calls waits for the goroutine.
type aside struct {
	run   func() // bound once: made at each refresh it would be garbage
	wait  sync.WaitGroup
	ended bool   // the code returned
	value any    // what it panicked with
	stack []byte // where
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

// mustCall is call for code whose user parts are contained: another panic of it is the
// caller's.
func (a *aside) mustCall(w *World) {
	if !a.call() && a.value != nil {
		e := newBroken(w, "the refresh", a.value)
		e.Stack = a.stack
		panic(e)
	}
}
