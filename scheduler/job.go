package scheduler

import (
	"math/rand/v2"
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/clock"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/world"
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
	step  drive.RefreshStep
	n     int
	stamp uint64 // higher than that of every earlier job, in this tick or before
	done  atomic.Int32
	_     [28]byte
}

// runJobs takes part in the refresh until it is over.
func (t *tick) runJobs(w *worker) {
	for k := int32(0); ; {
		switch {
		case k < t.opened.Load():
			w.backoff.end()
			t.work(&t.jobs[k], w, &w.chance, &w.spans)
			k++
		case t.over.Load():
			w.backoff.end()
			return
		default:
			w.backoff.failed()
		}
	}
}

// work takes items of a job until none is left. It begins with those of the shards that the worker
// has run, because its processor's cache has them. Then it takes the rest, from a different start
// for each worker. chance and notes are the caller's.
func (t *tick) work(j *job, w *worker, chance *rand.PCG, notes *[]span) {
	for _, i := range w.mine {
		if int(i) < j.n {
			t.try(j, int(i), chance, notes)
		}
	}
	from := w.number * j.n / len(t.workers)
	for i := from; i < j.n; i++ {
		t.try(j, i, chance, notes)
	}
	for i := range from {
		t.try(j, i, chance, notes)
	}
}

// try does an item of a job if nobody has taken it.
func (t *tick) try(j *job, i int, chance *rand.PCG, notes *[]span) {
	if !t.claim(j, i) {
		return
	}
	if t.chaos {
		randomDelay(chance)
	}
	if !t.traced {
		t.item(j, i)
		return
	}
	x := span{SpanStep, int32(j.step), world.AllShards, clock.Now(), 0}
	if j.step.ByShard() && i < len(t.programs)-1 {
		x.shard = int32(i)
	}
	t.item(j, i)
	x.to = clock.Now()
	*notes = append(*notes, x)
}

// claim takes an item of a job.
func (t *tick) claim(j *job, i int) bool {
	c := &t.claims[i]
	last := c.Load()
	return last < j.stamp && c.CompareAndSwap(last, j.stamp)
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
	if k == jobsMax || n > len(t.claims) {
		for i := range n {
			f(i)
		}
		return
	}
	t.call(t.workers[0])
	j := &t.jobs[k]
	j.f, j.step, j.n, j.stamp = f, t.world.Step(), n, t.made*jobsMax+uint64(k)
	j.done.Store(0)
	t.opened.Store(k + 1) // publishes the job
	t.gate.open()
	defer t.awaitJob(j)                          // also if an item has ended this goroutine
	t.work(j, t.workers[0], &t.chance, &t.notes) // not the worker's: another goroutine may have taken its place
}

// awaitJob waits until a job is done. If this goroutine is ending, it gives up the items that
// nobody has taken yet.
func (t *tick) awaitJob(j *job) {
	for i := range j.n {
		if t.claim(j, i) {
			j.done.Add(1)
		}
	}
	p := backoff{gate: &t.gate} // not the worker's: another goroutine may have taken its place
	for int(j.done.Load()) < j.n {
		p.failed()
	}
	p.end()
}
