package scheduler

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/atoll-sim/atoll/internal/clock"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// worker is one of the goroutines that run programs; number 0 is the
// coordinator.
//
// Ownership: the goroutine itself; the coordinator between ticks, while the goroutine looks at
// state alone. The watchdog may read running and since.
type worker struct {
	number   int
	start    func()          // the body of its goroutine
	run      func()          // the part of start that takes part in ticks; it also goes on for a goroutine that a system has ended
	mine     []int32         // the programs it ran last, costliest first
	own, all cursor          // in mine, and in the tick's order
	now      int64           // when it last finished something
	callAt   int64           // when it calls the others; used by the coordinator alone
	caller   context.Context // of the tick for which its goroutine was started, or nil; the coordinator's
	backoff  backoff
	chance   rand.PCG // for chaos
	spans    []span   // of a tick that is traced

	// state is one of those below, and above that the number of the goroutine whose state that is.
	// A goroutine that finds another number there is not wanted any more.
	state atomic.Uint32

	running  atomic.Pointer[step]
	since    atomic.Int64
	reported int64 // the value of since in the watchdog's last report; the watchdog's
	_        [64]byte
}

// The states of a worker that is not the coordinator. Only the coordinator makes it wanted, or late
// if the tick ends before its goroutine takes part: on a busy machine that goroutine may come many
// milliseconds later. The rest the goroutine does itself.
const (
	gone      = iota // it has no goroutine
	wanted           // its goroutine is to take part in a tick
	working          // it takes part
	staying          // it looks for the next tick
	late             // it did not begin to take part, and that tick is over; it is to end
	lateStays        // the same, but it is to stay

	stateMask     = 7
	nextGoroutine = stateMask + 1
)

const (
	// aloneMax is how long the coordinator works alone, if the last tick took less than that:
	// waking others costs a few microseconds.
	aloneMax = 20 * time.Microsecond
	// sortTicks is how many ticks pass before the programs are sorted by cost again.
	sortTicks = 16
	// never is a reading that the clock does not reach.
	never = math.MaxInt64
)

// newWorker makes a worker. If a system ends the worker's goroutine, another goroutine
// takes its place.
func (t *tick) newWorker(number int) *worker {
	w := &worker{number: number, callAt: never, backoff: backoff{gate: &t.gate}}
	w.start = func() {
		if t.join(w, w.state.Load()&^stateMask) {
			w.run()
		}
	}
	w.run = func() {
		done := false
		defer func() {
			if !done {
				go w.run()
			}
		}()
		for again := true; again; again = t.stay(w) {
			t.runSystems(w)
			t.runJobs(w)
		}
		done = true
	}
	return w
}

// runSystems runs programs forward until all are finished.
func (t *tick) runSystems(w *worker) {
	w.now = clock.Now()
	for idle := false; t.unfinished.Load() > 0; {
		p := t.pick(w)
		if p == nil {
			idle = true
			w.backoff.failed()
			continue
		}
		if idle {
			idle = false
			w.backoff.end()
			w.now = clock.Now()
		}
		t.advance(w, p)
	}
	w.backoff.end()
}

// arrange gives each worker the programs it ran last, costliest first. The program of the
// global systems comes before all others, because shards may be waiting for it. A single
// worker has no load to share, and runs the shards by number, so that its steps can be
// repeated in the same order.
func (t *tick) arrange() {
	if w := t.workers[0]; len(t.workers) == 1 && len(w.mine) == len(t.order) && !t.chaos {
		w.own, w.all = cursor{}, cursor{} // it has all of them, as in the last tick
		return
	}
	if t.made%sortTicks == 1 && len(t.workers) > 1 {
		slices.SortFunc(t.order, func(a, b int32) int {
			return cmp.Compare(t.programs[b].cost, t.programs[a].cost)
		})
	}
	for _, w := range t.workers {
		w.mine, w.own, w.all = w.mine[:0], cursor{}, cursor{}
	}
	for _, i := range t.order {
		w := t.workers[t.programs[i].worker]
		w.mine = append(w.mine, i)
	}
	if t.chaos {
		for _, w := range t.workers {
			w.shuffle()
		}
	}
}

// shuffle has the worker look for programs in a random order.
func (w *worker) shuffle() {
	rand.New(&w.chance).Shuffle(len(w.mine), func(i, k int) { w.mine[i], w.mine[k] = w.mine[k], w.mine[i] })
}

// pick claims a program for w: the costliest of its own, or else the costliest of all.
func (t *tick) pick(w *worker) *program {
	if t.global != nil && t.take(t.global) {
		return t.global
	}
	if p := t.scan(w.mine, &w.own); p != nil {
		return p
	}
	return t.scan(t.order, &w.all)
}

// cursor is a place in a list of programs.
type cursor struct {
	from int // programs before this are known to be finished
	next int // where to look next: the programs before this stood at a fence
}

// scan claims the next program of a list that can go on. It goes round the list,
// so that behind each fence the costliest program comes first again.
func (t *tick) scan(list []int32, c *cursor) *program {
	for c.from < len(list) && t.programs[list[c.from]].state.Load() == finished {
		c.from++
	}
	c.next = max(c.next, c.from)
	for i := c.next; i < len(list); i++ {
		if p := &t.programs[list[i]]; t.take(p) {
			c.next = i + 1
			return p
		}
	}
	for i := c.from; i < min(c.next, len(list)); i++ {
		if p := &t.programs[list[i]]; t.take(p) {
			c.next = i + 1
			return p
		}
	}
	return nil
}

// take claims a program if it can go on.
func (t *tick) take(p *program) bool {
	state := p.state.Load()
	return t.runnable(state) && p.state.CompareAndSwap(state, claimed)
}

// call calls the other workers, once in a tick, and starts the goroutines of those that have none.
// Those that are awake, or late, it calls only for the caller they worked for: a goroutine has the
// profile labels and the bubble of the one that started it. Coordinator only.
func (t *tick) call(w *worker) {
	w.callAt = never
	if t.called {
		return
	}
	t.called = true
	t.helpers.Add(int32(len(t.workers) - 1))
	t.stays = t.stays && !clock.InBubble()
	started, again := false, t.mayCallAgain()
	for _, w := range t.workers[1:] {
		s := w.state.Load()
		goroutine, state := s&^stateMask, s&stateMask
		if again && state >= staying && w.caller == t.ctx && w.state.CompareAndSwap(s, goroutine|wanted) {
			continue
		}
		if w.isLate() { // it would take this call for its own; this tick does without it
			t.helpers.Add(-1)
			continue
		}
		if w.caller = t.ctx; clock.InBubble() {
			w.caller = nil // it may take part in no other tick
		}
		w.state.Store(goroutine + nextGoroutine | wanted)
		go w.start()
		started = true
	}
	if started {
		hurry()
	}
}

// mayCallAgain reports whether workers that are awake, or late, may take part in this tick if they
// were started for its context: that can be compared, and the tick is not in a bubble of synctest,
// in which none stays.
func (t *tick) mayCallAgain() bool {
	// To compare contexts of other kinds may panic, and to ask whether it would allocates.
	if of := reflect.TypeOf(t.ctx); of.Kind() != reflect.Pointer && (of.Size() > 0 || !of.Comparable()) {
		return false
	}
	return t.stays || !clock.InBubble()
}

// join takes part in a tick that the worker was called for, and reports whether it may: it may not
// if that tick is over, or the worker has another goroutine. One that stays waits for a while to be
// called. mine is the number of the caller's goroutine.
func (t *tick) join(w *worker, mine uint32) bool {
	looks, until := 0, int64(0)
	for {
		switch s := w.state.Load(); s {
		case mine | wanted:
			if w.state.CompareAndSwap(s, mine|working) {
				return true
			}
		case mine | late:
			if w.state.CompareAndSwap(s, mine) { // it is gone
				return false
			}
		case mine | lateStays:
			w.state.CompareAndSwap(s, mine|staying)
			looks, until = 0, 0
		case mine | staying:
			now := clock.Now()
			if looks++; looks == 1 {
				until = now + t.scale.Ticks(spinTime)
			}
			if (looks > spinMax || now >= until) && w.state.CompareAndSwap(s, mine) {
				return false
			}
		default:
			return false
		}
	}
}

// stay ends the tick for a worker. If workers stay, it then looks for the next tick for a while,
// and reports whether it is called. The goroutine that took the coordinator's place does not stay:
// nobody calls it.
func (t *tick) stay(w *worker) bool {
	mine := w.state.Load() &^ stateMask // and gone
	if !t.stays || w.number == 0 {
		w.state.Store(mine) // it is gone
		t.leave()
		return false
	}
	w.state.Store(mine | staying)
	t.leave()
	return t.join(w, mine)
}

// leave is the last that a worker does in a tick.
func (t *tick) leave() {
	if t.helpers.Add(-1) == 0 {
		t.gate.open()
	}
}

// dismiss ends the tick for the workers that were called and did not begin to take part. They need
// not be waited for. Coordinator only.
func (t *tick) dismiss() {
	next := uint32(late)
	if t.stays {
		next = lateStays
	}
	for _, w := range t.workers[1:] {
		if s := w.state.Load(); s&stateMask == wanted && w.state.CompareAndSwap(s, s&^stateMask|next) {
			t.helpers.Add(-1)
		}
	}
}

// isLate reports whether the worker was called and has not begun.
func (w *worker) isLate() bool { return w.state.Load()&stateMask >= late }

// jobsMax is the number of steps of a refresh that can run in parallel. The coordinator runs
// further steps alone.
const jobsMax = 64

// job is a step of the refresh that runs in parallel. Each job is used once in a
// tick, so a worker that is late never finds the next step in its place.
//
// Ownership: the coordinator, until it opens the job.
type job struct {
	f     func(int)
	step  extend.RefreshStep
	n     int
	stamp uint64 // higher than that of every earlier job, in this tick or before
	done  atomic.Int32
	_     [28]byte
}

// parallel is the extend.Parallel of a tick: it opens a job for the workers,
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

// randomDelay takes a little time now and then: it sleeps, yields or is merely busy.
func randomDelay(chance *rand.PCG) {
	switch x := chance.Uint64(); {
	case x%64 == 0:
		time.Sleep(time.Duration(x>>8) % (100 * time.Microsecond))
	case x%64 < 16:
		runtime.Gosched()
	case x%64 < 32:
		for n := x >> 8 % 4096; n > 0; n-- {
			chance.Uint64()
		}
	}
}
