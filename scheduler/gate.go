package scheduler

import (
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	spins      = 64 // looks before yielding
	yields     = 64 // yields before parking
	yieldAfter = spins
)

// gate is where workers wait for each other: they spin, then yield, then park.
// A waiter notes the number before it looks for work; what gives others work
// raises it.
//
// Invariants: a raise after a waiter's note wakes it.
//
// Ownership: number is raised by anyone; mu guards parking.
type gate struct {
	number   atomic.Uint64
	sleepers atomic.Int32

	mu   sync.Mutex
	cond sync.Cond
}

func (g *gate) init() { g.cond.L = &g.mu }

// note returns the number to wait from.
func (g *gate) note() uint64 { return g.number.Load() }

// raise wakes everybody who noted the gate before.
func (g *gate) raise() {
	g.number.Add(1)
	if g.sleepers.Load() > 0 {
		g.mu.Lock()
		g.cond.Broadcast()
		g.mu.Unlock()
	}
}

// wait returns when the gate was raised since it was noted.
func (g *gate) wait(noted uint64) {
	for i := range spins + yields {
		if g.number.Load() != noted {
			return
		}
		if i >= yieldAfter {
			runtime.Gosched()
		}
	}
	g.mu.Lock()
	g.sleepers.Add(1)
	for g.number.Load() == noted {
		g.cond.Wait()
	}
	g.sleepers.Add(-1)
	g.mu.Unlock()
}
