package scheduler

import (
	"math/rand/v2"
	"sync/atomic"
)

// jobsMax is the number of steps of a refresh that can run in parallel. The coordinator runs
// further steps alone.
const jobsMax = 64

// job is a step of the refresh that runs in parallel. Each job is used once in a
// tick, so a worker that is late never finds the next step in its place.
//
// Ownership: the coordinator, until it opens the job.
type job struct {
	f     func(int)
	n     int
	taken atomic.Int32
	done  atomic.Int32
	_     [40]byte
}

// runJobs takes part in the refresh until it is over.
func (t *tick) runJobs(w *worker) {
	for k := int32(0); ; {
		switch {
		case k < t.opened.Load():
			w.backoff.end()
			t.work(&t.jobs[k], &w.chance)
			k++
		case t.over.Load():
			w.backoff.end()
			return
		default:
			w.backoff.failed()
		}
	}
}

// work takes items of a job until none is left.
func (t *tick) work(j *job, chance *rand.PCG) {
	for i := int(j.taken.Add(1)) - 1; i < j.n; i = int(j.taken.Add(1)) - 1 {
		if t.chaos {
			randomDelay(chance)
		}
		t.item(j, i)
	}
}

// item does one item. The item counts as done even if it ends its goroutine.
func (t *tick) item(j *job, i int) {
	defer func() {
		if int(j.done.Add(1)) == j.n {
			t.gate.open()
		}
	}()
	j.f(i)
}

// parallel is the drive.Parallel of a tick: it opens a job for the workers,
// takes part, and returns when it is done.
func (t *tick) parallel(n int, f func(int)) {
	k := t.opened.Load()
	if k == jobsMax {
		for i := range n {
			f(i)
		}
		return
	}
	t.call(t.workers[0])
	j := &t.jobs[k]
	j.f, j.n = f, n
	j.taken.Store(0)
	j.done.Store(0)
	t.opened.Store(k + 1) // publishes the job
	t.gate.open()
	defer t.awaitJob(j) // also if an item has ended this goroutine
	t.work(j, &t.chance)
}

// awaitJob waits until a job is done. If items are not taken yet, because this goroutine is
// ending, they are given up.
func (t *tick) awaitJob(j *job) {
	if left := j.n - int(j.taken.Swap(int32(j.n))); left > 0 {
		j.done.Add(int32(left))
	}
	p := backoff{gate: &t.gate} // not the worker's: another goroutine may have taken its place
	for int(j.done.Load()) < j.n {
		p.failed()
	}
	p.end()
}
