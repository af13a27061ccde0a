package scheduler

import (
	"context"
	"fmt"
	"runtime/debug"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/internal/clock"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// program is the list of a shard's systems in a tick, with the place that the shard has reached, or
// that of the global systems.
//
// Invariants: next only grows within a tick, to the number of steps.
//
// Ownership: the worker that has claimed state, which hands the rest over; the coordinator between
// ticks. Any goroutine may read progress.
type program struct {
	state     atomic.Int64 // ready, claimed, finished, or the fence or shard that it waits for
	progress  atomic.Int32 // 1 + the place of the last passed system that neighbours wait for
	next      int          // the step to take next
	steps     []step
	stepTimes []stepTime // by step
	spreads   []spread   // likewise
	context   *world.Context
	acting    *extend.Acting // of context
	shard     int            // or world.AllShards
	worker    int            // the number of the worker that ran it last
	stoppedAt int64          // when it stopped at a fence, or 0
	stopped   int64          // its state at that moment
	waits     []wait         // in this tick
	spent     int64
	took      programTimes
	cost      int64 // moving average of the time spent in a tick, in ticks of the clock
	errs      []failure
	_         [64]byte // programs are claimed by different workers
}

// The states of a program. A positive state names what the program waits for: a fence, by its
// number plus one; or, with nearBit, another shard and the system which that shard must have
// passed.
const (
	ready    = 0
	claimed  = -1
	finished = -2
	nearBit  = 1 << 62
)

// step is a system in a program.
type step struct {
	run     func(*world.Context)
	system  *system
	access  *extend.Access
	labels  context.Context // for profiles; nil if they are not wanted
	near    []nearWait
	waits   [2]int32 // fences, or none
	signal  int32    // the fence that waits for this step, or none
	at      int32    // the system's place in the order
	shard   int32    // the program's
	publish bool     // neighbours wait for it
	off     bool     // it panicked on this shard, and no longer runs here
}

// none stands in place of a fence's number where there is no fence.
const none = -1

// nearWait is a wait until one other shard has passed a system.
type nearWait struct{ shard, after int32 }

// stepTime is what a step has taken, in ticks of the clock.
type stepTime struct {
	runs, panics     uint64
	total, most, now int64
	waited           int64 // how long the program stood before it
	heldUp           int64 // how long others stood because this program was the last to pass it
}

// programTimes is what all steps of a program have taken since the scheduler was made, in ticks of
// the clock.
type programTimes struct {
	busy, waited, heldUp int64
}

func (s *stepTime) add(spent int64) {
	s.runs++
	s.total += spent
	s.most = max(s.most, spent)
	s.now = spent
}

// wait is a time for which a program stood at a fence, in ticks of the clock.
type wait struct {
	step     int32 // of the program
	before   int64 // the state of the program: what it stood before
	from, to int64
}

// compile gives the program its steps, without fences.
func (p *program) compile(systems []*system, labels bool) {
	meters, spreads := p.stepTimes, p.spreads
	was := make(map[*system]int, len(p.steps))
	for k := range p.steps {
		was[p.steps[k].system] = k
	}
	p.steps, p.stepTimes, p.spreads = nil, nil, nil
	for at, s := range systems {
		if s.global != (p.shard == world.AllShards) {
			continue
		}
		i := max(0, p.shard)
		x := step{
			run: s.run[i], access: s.access[i], system: s, off: s.off[i],
			at: int32(at), shard: int32(p.shard), waits: [2]int32{none, none}, signal: none,
		}
		if labels {
			x.labels = pprof.WithLabels(context.Background(), pprof.Labels(labelsOf(s.name, p.shard)...))
		}
		m, took := stepTime{}, spread{}
		if k, ok := was[s]; ok {
			m, took = meters[k], spreads[k]
		}
		p.steps, p.stepTimes, p.spreads = append(p.steps, x), append(p.stepTimes, m), append(p.spreads, took)
	}
}

// labelsOf returns the labels of a step in profiles. The watchdog finds the step's stack by
// them.
func labelsOf(system string, shard int) []string {
	where := "all"
	if shard != world.AllShards {
		where = fmt.Sprint(shard)
	}
	return []string{"shard", where, "system", system}
}

// find returns the number of the program's step of the system at a place in the
// order.
func (p *program) find(at int) int {
	i, ok := slices.BinarySearchFunc(p.steps, int32(at), func(s step, at int32) int { return int(s.at - at) })
	if !ok {
		panic(fmt.Sprintf("scheduler: shard %d has no step %d", p.shard, at))
	}
	return i
}

// advance runs a program that w has claimed forward, until it is finished or
// stands before a closed fence.
func (t *tick) advance(w *worker, p *program) {
	began := w.now
	if p.stoppedAt != 0 {
		p.stand(began)
	}
	for again := true; again; {
		var handed bool
		if again, handed = t.forward(w, p); handed {
			return
		}
	}
	p.worker = w.number
	p.spent += w.now - began
	state := int64(finished)
	if p.next < len(p.steps) {
		if state = t.closed(&p.steps[p.next]); state != ready {
			p.stoppedAt, p.stopped = w.now, state
		}
	}
	p.state.Store(state) // hands the program over
	if state == finished && t.unfinished.Add(-1) == 0 {
		t.gate.open()
	}
}

// stand ends the wait of a program that a worker takes again.
func (p *program) stand(now int64) {
	if took := now - p.stoppedAt; took > 0 {
		p.stepTimes[p.next].waited += took
		p.waits = append(p.waits, wait{int32(p.next), p.stopped, p.stoppedAt, now})
	}
	p.stoppedAt = 0
}

// forward is advance up to a panic. It then reports that there is more to run, or that the program
// was handed over.
func (t *tick) forward(w *worker, p *program) (again, handed bool) {
	returned := false
	defer func() {
		if !returned {
			handed = t.recovered(w, p, recover())
			again = !handed
		}
	}()
	c, acting := p.context, p.acting
	for p.next < len(p.steps) {
		s := &p.steps[p.next]
		if t.due[s.at] && !s.off {
			if t.closed(s) != ready {
				break
			}
			acting.Start(s.system.name, s.access)
			if t.observed {
				t.observe(w, s, c)
			} else {
				s.run(c)
			}
			acting.Returned()
			acting.Stop()
			t.measure(w, p)
		}
		t.pass(p, s)
	}
	returned = true
	return false, false
}

// observe runs a step under observation.
func (t *tick) observe(w *worker, s *step, c *world.Context) {
	if t.labels {
		pprof.SetGoroutineLabels(s.labels)
		defer pprof.SetGoroutineLabels(context.Background())
	}
	if t.watchdog != nil {
		w.since.Store(w.now)
		w.running.Store(s)
		defer w.running.Store(nil)
	}
	if t.tracing != nil {
		defer trace.StartRegion(t.tracing, "system "+s.system.name).End()
		trace.Log(t.tracing, "shard", strconv.Itoa(c.Shard()))
	}
	if t.chaos {
		randomDelay(&w.chance)
	}
	s.run(c)
}

// measure ends the time of the step that the program is at. The time of the next step begins
// with the same reading of the clock.
func (t *tick) measure(w *worker, p *program) {
	now := clock.Now()
	spent, i := now-w.now, p.next
	took := t.scale.Duration(spent)
	m, of := &p.stepTimes[i], &p.steps[i].system.times[w.number]
	of.Add(took)
	m.add(spent)
	p.spreads[i].add(took)
	if t.traced {
		w.spans = append(w.spans, span{SpanSystem, p.steps[p.next].at, int32(p.shard), w.now, now})
	}
	w.now = now
	if now > w.callAt {
		t.call(w)
	}
}

// pass ends the step that the program is at, and publishes what it wrote in this
// shard to the programs that wait for it.
func (t *tick) pass(p *program, s *step) {
	p.next++
	if s.signal != none {
		if f := &t.fences[s.signal]; f.left.Add(-1) == 0 {
			f.last, f.step = t.numberOf(p), int32(p.next-1)
			t.gate.open()
		}
	}
	if s.publish {
		p.progress.Store(s.at + 1)
		t.gate.open()
	}
}

// recovered ends a step that panicked, or that ended its goroutine as a failed test does. In
// the second case it hands the program over, so that another worker can claim it, and reports
// that. A panic(nil), which GODEBUG=panicnil=1 allows, looks the same.
func (t *tick) recovered(w *worker, p *program, value any) (handed bool) {
	s := &p.steps[p.next]
	p.acting.Stop()
	exits := value == nil
	if exits {
		value = aside.ErrGoexit
	}
	e := &world.PanicError{In: inSystem, Name: s.system.name, Shard: p.shard, Tick: t.number, Value: value, Stack: debug.Stack()}
	p.errs = append(p.errs, failure{e, s.system})
	t.measure(w, p)
	p.stepTimes[p.next].panics++
	s.system.times[w.number].panics++
	if s.system.policy == DisableOnShard {
		s.off = true
		s.system.off[max(0, p.shard)] = true
	}
	t.pass(p, s)
	if exits {
		t.giveUp(p)
	}
	return exits
}

// giveUp hands over a program when its worker's goroutine is ending.
func (t *tick) giveUp(p *program) {
	state := int64(ready)
	if p.next == len(p.steps) {
		state = finished
	}
	p.state.Store(state)
	if state == finished {
		t.unfinished.Add(-1)
	}
	t.gate.open()
}

// runnable reports whether a program in that state is worth claiming: it may be able to go on.
func (t *tick) runnable(state int64) bool {
	switch {
	case state == ready:
		return true
	case state < 0:
		return false
	case state&nearBit != 0:
		return t.programs[state&^nearBit>>32].progress.Load() > int32(state)
	}
	return t.fences[state-1].left.Load() == 0
}

// closed returns the state of a program that stands before a closed fence of the
// step, or ready if all are open.
func (t *tick) closed(s *step) int64 {
	for _, fence := range s.waits {
		if fence != none && t.fences[fence].left.Load() > 0 {
			return int64(fence) + 1
		}
	}
	for _, n := range s.near {
		if t.programs[n.shard].progress.Load() <= n.after {
			return nearBit | int64(n.shard)<<32 | int64(n.after)
		}
	}
	return ready
}

// numberOf returns the number of a program.
func (t *tick) numberOf(p *program) int32 {
	if p.shard == world.AllShards {
		return int32(len(t.programs) - 1)
	}
	return int32(p.shard)
}

// blame adds the time that a program waited to the times of the programs that it waited for. All
// systems have run.
func (t *tick) blame(p *program) {
	var row []int64
	if n := len(t.programs); t.pairs != nil {
		row = t.pairs[int(t.numberOf(p))*n:][:n]
	}
	for i := range p.waits {
		x := &p.waits[i]
		q, step := t.waitedFor(x.before)
		took := x.to - x.from
		p.took.waited += took
		p.steps[x.step].system.waited += took
		q.took.heldUp += took
		q.stepTimes[step].heldUp += took
		if row != nil {
			row[t.numberOf(q)] += took
		}
	}
}

// waitedFor returns the program that another program waited for, and the step that it had to pass.
func (t *tick) waitedFor(before int64) (q *program, step int) {
	if before&nearBit != 0 {
		q = &t.programs[before&^nearBit>>32]
		return q, q.find(int(int32(before)))
	}
	f := &t.fences[before-1]
	return &t.programs[f.last], int(f.step)
}
