package refresh

import "github.com/atoll-sim/atoll/internal/aside"

// Aside runs code on a goroutine of its own. User code in it may end the goroutine that it runs
// on, as a failing test does, and a refresh has to be completed all the same.
//
// Ownership: as for its Caller.
type Aside struct{ aside.Caller }

// MustCall is Call for code that contains the panics of users' functions in it. It passes any other
// panic on to the caller, the worker of a shard, as a *Panic.
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

// init binds what apply runs for a shard: it goes on with the next partition where the last call
// ended.
func (a *applier) init(e *Engine, shard int) {
	a.e, a.shard = e, shard
	a.Bind(func() {
		for ; a.partition < len(a.e.active); a.partition++ {
			a.e.active[a.partition].apply(a.e.Shards[a.shard])
		}
	})
}

// apply applies everything for the shard, on its worker in the step apply. If a function ends the
// goroutine in the middle of a partition, the next call continues after it.
func (a *applier) apply() {
	for a.partition = 0; a.partition < len(a.e.active); {
		a.MustCall()
	}
}
