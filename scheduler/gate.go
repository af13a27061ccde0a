package scheduler

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/atoll-sim/atoll/internal/clock"
)

const (
	// spinTime is how long a worker that finds nothing to do keeps looking before it parks, if
	// there is a processor for each worker. To wake a parked worker takes 15 to 100 µs. spinTime is
	// also how long a worker stays awake for the next tick.
	spinTime = 50 * time.Microsecond
	// spinMax limits the looks in that time, for a clock that stands still: in a bubble of
	// testing/synctest no time passes while a goroutine spins.
	spinMax = 10_000
	// yields is the number of looks where there are fewer processors; after each the worker yields.
	yields = 64
)

// gate is where workers park that found nothing to do. A goroutine that publishes work for others
// then opens it.
//
// Invariants: if work is published before open, a worker that looks after enter finds it, or its
// park returns at once. While the gate is empty, open is one load.
//
// Ownership: safe for concurrent use; mu guards parking. spin is the coordinator's, which sets
// it before it calls the workers.
type gate struct {
	number atomic.Uint64 // how often it was opened while not empty
	inside atomic.Int32  // how many are about to park, or parked
	spin   int64         // how long to spin, in ticks of the clock; 0: yield

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
	hurry()
}

// hurry lets idle processors run at once the goroutine that the caller has started or woken. The
// runtime keeps the newest such goroutine in a slot for what this processor runs next. Other
// processors take it from there only after a sleep, which is 60 µs on Linux. Starting one more
// goroutine moves it from the slot to the queue.
func hurry() { go doNothing() }

func doNothing() {}

// enter announces that the caller is about to park, and returns the number to pass to park. The
// caller then looks for work once more.
func (g *gate) enter() uint64 {
	g.inside.Add(1)
	return g.number.Load()
}

// park waits until the gate is opened, or returns at once if it was opened since enter.
func (g *gate) park(number uint64) {
	g.mu.Lock()
	for g.number.Load() == number {
		g.cond.Wait()
	}
	g.mu.Unlock()
}

func (g *gate) leave() { g.inside.Add(-1) }

// backoff is what a goroutine does between looks for work that find none: it spins, or yields where
// there are too few processors, enters the gate, looks once more and parks.
type backoff struct {
	gate    *gate
	looks   int
	until   int64 // when it stops spinning
	entered bool
	number  uint64
}

// failed is called after each look that found nothing.
func (b *backoff) failed() {
	if b.looks++; b.looks == 1 {
		b.until = clock.Now() + b.gate.spin
	}
	switch {
	case b.entered:
		b.gate.park(b.number)
		b.end()
	case b.gate.spin > 0 && b.looks <= spinMax && clock.Now() < b.until:
	case b.gate.spin == 0 && b.looks <= yields:
		runtime.Gosched()
	default:
		b.entered, b.number = true, b.gate.enter()
	}
}

// end is called when there is something to do, or nothing more to wait for.
func (b *backoff) end() {
	if b.entered {
		b.gate.leave()
	}
	b.entered, b.looks = false, 0
}
