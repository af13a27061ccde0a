package refresh

import (
	"runtime/debug"
	"sync"
)

// Aside runs code on a goroutine of its own. User code in it may end the goroutine that it runs
// on, as a failing test does, and a refresh has to be completed all the same.
//
// Ownership: the calling goroutine, which waits for the other.
type Aside struct {
	Value any    // what it panicked with; nil if it ended its goroutine
	Stack []byte // where it panicked

	run   func() // bound once: a closure made at each refresh would be garbage
	wait  sync.WaitGroup
	ended bool // the code returned
}

// Bind sets the code.
func (a *Aside) Bind(f func()) {
	a.run = func() {
		defer a.wait.Done()
		defer func() {
			if !a.ended {
				if a.Value = recover(); a.Value != nil {
					a.Stack = debug.Stack()
				}
			}
		}()
		f()
		a.ended = true
	}
}

// Call runs the code and reports whether it returned. If it did not, Value and Stack say why.
func (a *Aside) Call() (returned bool) {
	a.ended, a.Value, a.Stack = false, nil, nil
	a.wait.Add(1)
	go a.run()
	a.wait.Wait()
	return a.ended
}

// MustCall is Call for code that contains the panics of users' functions in it. It passes any
// other panic on to the caller, as a *Panic.
func (a *Aside) MustCall() {
	if !a.Call() && a.Value != nil {
		panic(&Panic{During: "the refresh", Value: a.Value, Stack: a.Stack})
	}
}

// applier applies the requests on a shard when functions are among them. It runs them aside.
//
// Ownership: the shard's worker, and the goroutine of the Aside while the worker waits.
type applier struct {
	Aside
	e         *Engine
	shard     int
	partition int // the next partition to apply
}

func (a *applier) init(e *Engine, shard int) {
	a.e, a.shard = e, shard
	a.Bind(func() {
		for ; a.partition < len(a.e.active); a.partition++ {
			a.e.active[a.partition].apply(a.e.Shards[a.shard])
		}
	})
}

// apply applies everything. If a function ends the goroutine in the middle of a partition, the next
// call continues after it.
func (a *applier) apply() {
	for a.partition = 0; a.partition < len(a.e.active); {
		a.MustCall()
	}
}
