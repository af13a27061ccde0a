package scheduler

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/clock"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// tick is the state of the running tick, made once and used for every tick.
//
// Invariants: each (system, shard) that is due runs exactly once. A fence's
// countdown is 0 exactly when every program that has the system has passed it.
//
// Ownership: the coordinator, which is the goroutine in Step, sets everything up
// before it calls the workers, and again after they are gone.
type tick struct {
	engine     *engine.World
	world      *engine.Tick    // the running tick
	inParallel extend.Parallel // parallel, bound once
	number     uint64
	made       uint64 // ticks made so far
	systems    []*system
	due, ran   []bool    // by system: it runs in this tick; it ran in the last one
	programs   []program // by shard; the last is that of the global systems
	global     *program  // the last, if it has steps
	order      []int32   // the shards' programs, costliest first
	fences     []countdown
	pairs      []int64 // how long programs waited for each other, a row for each that waited; nil for too many shards

	unfinished atomic.Int32 // programs
	jobs       [jobsMax]job
	claims     []atomic.Uint64 // by item: the stamp of the last job that it was taken in
	opened     atomic.Int32    // jobs opened so far
	over       atomic.Bool     // no more jobs in this tick
	gate       gate

	workers []*worker
	helpers atomic.Int32 // workers that were called and have not left the tick; without late ones
	called  bool         // the helpers were called in this tick
	stays   bool         // the helpers stay awake for a while after this tick
	ctx     context.Context
	ended   int64 // when the last tick ended
	small   bool  // the last tick was short
	scale   clock.Scale

	committing atomic.Int64 // when the coordinator began to wait for the log, or 0; the watchdog reads it

	traced   bool   // spans are kept in this tick
	notes    []span // the coordinator's, outside of its programs
	observed bool   // the observer has something to do
	observer
}

type countdown struct {
	left atomic.Int32
	from int32
	last int32    // the number of the program that opened it in this tick; written by that program's worker
	step int32    // the number of the step that opened it
	_    [48]byte // counted down by different workers
}

// init makes the workers, and the programs of the shards and of the global systems, which have no
// steps yet.
func (t *tick) init(w *world.World, workers int) {
	n := w.Shards()
	t.engine = engine.Of(w)
	t.inParallel = t.parallel
	t.gate.init()
	t.scale = clock.Measure()
	t.claims = make([]atomic.Uint64, max(n+1, extend.PartitionsMax))
	t.programs = make([]program, n+1)
	if n <= WaitShardsMax {
		t.pairs = make([]int64, (n+1)*(n+1))
	}
	for i := range n {
		t.programs[i].shard = i
		t.programs[i].worker = i * workers / n
		t.order = append(t.order, int32(i))
	}
	t.programs[n].shard = world.AllShards
	for i := range t.programs {
		p := &t.programs[i]
		c := t.engine.Context(p.shard)
		p.context, p.acting = (*world.Context)(c), c.Acting()
	}
	for i := range workers {
		t.workers = append(t.workers, t.newWorker(i))
	}
}

// compile makes the programs of a list of systems. It keeps what was measured so far.
func (t *tick) compile(w *world.World, systems []*system, labels bool) {
	t.systems = systems
	t.due = make([]bool, len(systems))
	t.ran = make([]bool, len(systems))
	for _, s := range systems {
		if s.times == nil {
			s.times = make([]ofWorker, len(t.workers))
		}
	}
	for i := range t.programs {
		t.programs[i].compile(systems, labels)
	}
	t.raise()
}

// raise puts the fences into the programs. Each system that all shards wait for has one
// countdown.
func (t *tick) raise() {
	t.fences = t.fences[:0]
	number := map[int]int32{} // by the place of the system that is waited for
	for _, f := range fencesOf(t.engine, t.systems) {
		if f.near {
			t.raiseNear(f)
			continue
		}
		n, ok := number[f.after]
		if !ok {
			n = int32(len(t.fences))
			number[f.after] = n
			t.fences = append(t.fences, countdown{})
			t.fences[n].from = int32(t.each(f.after, func(_ int, s *step) { s.signal = n }))
		}
		t.each(f.system, func(_ int, s *step) {
			if s.waits[0] == none {
				s.waits[0] = n
			} else {
				s.waits[1] = n
			}
		})
	}
}

// each calls f with the steps of the system at a place in the order, by program,
// and returns how many there are.
func (t *tick) each(at int, f func(program int, s *step)) (n int) {
	for i := range t.programs {
		if p := &t.programs[i]; t.systems[at].global == (p.shard == world.AllShards) {
			f(i, &p.steps[p.find(at)])
			n++
		}
	}
	return n
}

// raiseNear makes shards wait for the neighbours that they read from, and for those that
// read from them.
func (t *tick) raiseNear(f fence) {
	first, then := t.systems[f.after].access, t.systems[f.system].access
	writesFirst := first[0].Writes.Meets(&then[0].Neighbour) // a writer before its readers
	readsFirst := first[0].Neighbour.Meets(&then[0].Writes)  // readers before their writer
	t.each(f.system, func(shard int, s *step) {
		if writesFirst {
			for _, n := range then[shard].Neighbours {
				t.waitFor(s, n, f.after)
			}
		}
		if !readsFirst {
			return
		}
		for n := range first {
			if _, ok := slices.BinarySearch(first[n].Neighbours, shard); ok {
				t.waitFor(s, n, f.after)
			}
		}
	})
}

// waitFor makes a step wait until another shard has passed a system. A wait for a later system
// replaces one for an earlier system.
func (t *tick) waitFor(s *step, shard, after int) {
	other := &t.programs[shard]
	other.steps[other.find(after)].publish = true
	i := slices.IndexFunc(s.near, func(n nearWait) bool { return int(n.shard) == shard })
	if i < 0 {
		s.near = append(s.near, nearWait{int32(shard), int32(after)})
		return
	}
	s.near[i].after = max(s.near[i].after, int32(after))
}

// begin sets the tick up: every program is at its first step, and the coordinator is about to run,
// together with the other workers if that is worth while.
func (t *tick) begin(ctx context.Context, w *engine.Tick) {
	t.ctx, t.world, t.number = ctx, w, w.Number()
	t.made++
	last := len(t.programs) - 1
	t.global = nil
	unfinished := int32(0)
	for i := range t.programs {
		p := &t.programs[i]
		p.next = 0
		p.stoppedAt, p.waits = 0, p.waits[:0]
		if p.progress.Load() != 0 { // to store costs much more than to load, here and below
			p.progress.Store(0)
		}
		if len(p.steps) == 0 {
			if p.state.Load() != finished {
				p.state.Store(finished)
			}
			continue
		}
		p.state.Store(ready)
		unfinished++
		if i == last {
			t.global = p
		}
	}
	t.unfinished.Store(unfinished)
	for i := range t.fences {
		t.fences[i].left.Store(t.fences[i].from)
	}
	if t.opened.Load() != 0 {
		t.opened.Store(0)
	}
	t.over.Store(false)
	t.arrange()
	if t.called = len(t.workers) == 1; !t.called {
		t.callOthers()
	}
}

// beginTrace begins a tick, which is traced or not. The other workers are not called yet.
func (t *tick) beginTrace(on bool) {
	if t.traced == on && !on {
		return
	}
	t.traced = on
	t.world.Trace(on)
	t.notes = t.notes[:0]
	for _, w := range t.workers {
		w.spans = w.spans[:0]
	}
}

// callOthers calls the other workers if that is worth while, and decides how they wait: they spin
// if there is a processor for each, and stay awake after the tick if ticks follow each other at
// once.
func (t *tick) callOthers() {
	w0, now := t.workers[0], clock.Now()
	t.gate.spin = 0
	if runtime.GOMAXPROCS(0) >= len(t.workers) {
		t.gate.spin = t.scale.Ticks(spinTime)
	}
	t.stays = now-t.ended < t.gate.spin
	if t.small && !t.more() {
		w0.callAt = now + t.scale.Ticks(aloneMax)
	} else {
		t.call(w0)
	}
}

// more reports whether a system runs that did not run in the last tick, so that the time of
// the last tick says nothing about this one.
func (t *tick) more() bool {
	for i, due := range t.due {
		if due && !t.ran[i] {
			return true
		}
	}
	return false
}

// awaitSystems waits until every program is finished.
func (t *tick) awaitSystems() {
	for p := (backoff{gate: &t.gate}); ; p.failed() {
		if t.unfinished.Load() == 0 {
			p.end()
			return
		}
	}
}

// finish ends the tick for the workers and waits for them.
func (t *tick) finish() {
	t.over.Store(true)
	t.dismiss()
	t.gate.open()
	p := backoff{gate: &t.gate}
	for t.helpers.Load() > 0 {
		p.failed()
	}
	p.end()
	t.workers[0].callAt = never
}

// settle adds up the tick: what programs cost, and whether it was short.
func (t *tick) settle() {
	spent := int64(0)
	for i := range t.programs {
		p := &t.programs[i]
		spent += p.spent
		p.cost += (p.spent - p.cost) / 4
		p.took.busy += p.spent
		p.spent = 0
	}
	t.small = t.scale.Duration(spent) < aloneMax
	copy(t.ran, t.due)
	t.ctx = nil
	for _, w := range t.workers[1:] {
		if w.state.Load()&stateMask < staying {
			w.caller = nil // a context may hold much
		}
	}
	t.ended = clock.Now()
}

// seed seeds the random numbers of the workers and of the refresh.
func (t *tick) seed(seed uint64) {
	for _, w := range t.workers {
		w.chance.Seed(seed, uint64(w.number))
	}
	t.chance.Seed(seed, uint64(len(t.workers)))
}
