package scheduler

import (
	"sync"
	"sync/atomic"

	"github.com/atoll-sim/atoll/world"
)

// jobsMax is the number of parallel steps a refresh may have.
const jobsMax = 16

// tick is the state of the running tick, made once and used for every tick.
//
// Invariants: each (system, shard) runs exactly once. passed[k] is 0 exactly
// when every shard has passed system k.
//
// Ownership: the coordinator, which is the goroutine in Step, sets everything up
// before it starts the workers, and again after they are gone.
type tick struct {
	world    world.Tick
	systems  []*system
	programs []program
	passed   []countdown // by system
	jobs     [jobsMax]job
	opened   atomic.Int32 // jobs opened so far
	over     atomic.Bool  // no more jobs in this tick
	gate     gate
	workers  sync.WaitGroup
}

type countdown struct {
	left atomic.Int32
	_    [60]byte // counted down by different workers
}

// job is a step of the refresh that runs in parallel. Each is used once in a
// tick, so a worker that is late never meets the next one in its place.
type job struct {
	f     func(int)
	n     int
	taken atomic.Int32
	done  atomic.Int32
}

// start sets the tick up: every program at its first system.
func (t *tick) start() {
	for i := range t.programs {
		t.programs[i].next = 0
	}
	for i := range t.passed {
		t.passed[i].left.Store(int32(len(t.programs)))
	}
	t.opened.Store(0)
	t.over.Store(false)
}

// systemsDone reports whether every shard has passed the last system.
func (t *tick) systemsDone() bool {
	return len(t.passed) == 0 || t.passed[len(t.passed)-1].left.Load() == 0
}

// runSystems takes shards and runs them forward until all are done, beginning
// with the shard first.
func (t *tick) runSystems(first int) {
	n := len(t.programs)
	for {
		noted := t.gate.note()
		if t.systemsDone() {
			return
		}
		ran := false
		for i := range n {
			p := &t.programs[(first+i)%n]
			if p.claimed.Load() || !p.claimed.CompareAndSwap(false, true) {
				continue
			}
			ran = t.advance(p) || ran
			p.claimed.Store(false) // hands the program over
		}
		if !ran {
			t.gate.wait(noted)
		}
	}
}

// worker returns what a worker does in a tick. A system that ends its goroutine
// ends this one, which another then replaces.
func (t *tick) worker(first int) func() {
	var work func()
	work = func() {
		done := false
		defer func() {
			if done {
				t.workers.Done()
			} else {
				go work()
			}
		}()
		t.runSystems(first)
		t.runJobs()
		done = true
	}
	return work
}

// awaitSystems waits until every shard has passed the last system.
func (t *tick) awaitSystems() {
	for noted := t.gate.note(); !t.systemsDone(); noted = t.gate.note() {
		t.gate.wait(noted)
	}
}

// runJobs takes part in the refresh until it is over.
func (t *tick) runJobs() {
	for k := int32(0); ; {
		noted := t.gate.note()
		switch {
		case k < t.opened.Load():
			t.work(&t.jobs[k])
			k++
		case t.over.Load():
			return
		default:
			t.gate.wait(noted)
		}
	}
}

// work takes items of a job until none is left.
func (t *tick) work(j *job) {
	for i := int(j.taken.Add(1)) - 1; i < j.n; i = int(j.taken.Add(1)) - 1 {
		j.f(i)
		if int(j.done.Add(1)) == j.n {
			t.gate.raise()
		}
	}
}

// parallel is the world.Parallel of a tick: it opens a job for the workers,
// takes part, and returns when it is done.
func (t *tick) parallel(n int, f func(int)) {
	k := t.opened.Load()
	if k == jobsMax {
		for i := range n {
			f(i)
		}
		return
	}
	j := &t.jobs[k]
	j.f, j.n = f, n
	j.taken.Store(0)
	j.done.Store(0)
	t.opened.Store(k + 1) // publishes the job
	t.gate.raise()
	t.work(j)
	for {
		noted := t.gate.note()
		if int(j.done.Load()) == n {
			return
		}
		t.gate.wait(noted)
	}
}

// finish ends the tick for the workers and waits for them.
func (t *tick) finish() {
	t.over.Store(true)
	t.gate.raise()
	t.workers.Wait()
}
