package scheduler

import (
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	spins  = 64 // looks before yielding
	yields = 64 // looks with a yield after each, before parking
)

// gate is where workers park that found nothing to do. Whoever publishes
// something that gives others work opens it.
//
// Invariants: a worker that looks after enter sees what was published before open, or its
// park returns at once. While the gate is empty, open is one load.
//
// Ownership: safe for concurrent use; mu guards parking.
type gate struct {
	number atomic.Uint64 // of times it was opened while not empty
	inside atomic.Int32  // how many are about to park, or parked

	mu   sync.Mutex
	cond sync.Cond
}

func (g *gate) init() { g.cond.L = &g.mu }

// open wakes all workers inside.
func (g *gate) open() {
	if g.inside.Load() == 0 {
		return
	}
	g.number.Add(1)
	g.mu.Lock()
	g.cond.Broadcast()
	g.mu.Unlock()
}

// enter announces that the caller is about to park, and returns the number to
// park with. The caller then looks for work once more.
func (g *gate) enter() uint64 {
	g.inside.Add(1)
	return g.number.Load()
}

// park waits until the gate was opened since enter.
func (g *gate) park(number uint64) {
	g.mu.Lock()
	for g.number.Load() == number {
		g.cond.Wait()
	}
	g.mu.Unlock()
}

func (g *gate) leave() { g.inside.Add(-1) }

// backoff is what one goroutine does while it looks for work in vain: it spins, yields,
// enters the gate, looks once more and parks.
type backoff struct {
	gate    *gate
	looks   int
	entered bool
	number  uint64
}

// failed is called after each look that found nothing.
func (p *backoff) failed() {
	switch p.looks++; {
	case p.looks <= spins:
	case p.looks <= spins+yields:
		runtime.Gosched()
	case !p.entered:
		p.entered, p.number = true, p.gate.enter()
	default:
		p.gate.park(p.number)
		p.end()
	}
}

// end is called when there is something to do, or nothing more to wait for.
func (p *backoff) end() {
	if p.entered {
		p.gate.leave()
	}
	p.entered, p.looks = false, 0
}
