package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/atoll-sim/atoll/internal/clock"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/world"
)

// TraceTicksMax is the largest number of ticks for Scheduler.Trace and Scheduler.KeepOverruns.
const TraceTicksMax = 1024

// TraceSpansMax is the largest number of spans in a Trace.
const TraceSpansMax = 16384

// Trace shows what each worker did in a tick, and when. All callers that trace the same tick share
// its Spans: they must not be changed.
type Trace struct {
	Tick     uint64
	Began    time.Time
	Duration time.Duration // as in Stats.Time
	Between  time.Duration // how much of that came before Began, as in Stats.Between
	Budget   time.Duration // as in Stats, in that tick
	Overrun  bool          // it took longer than the budget
	Workers  int
	Spans    []Span // ordered by From
	Omitted  int    // how many spans there were beyond TraceSpansMax: the shortest
}

// Span is a part of a tick. From and To count from when the tick began. What came before it has
// negative ones: such spans lie end to end, without the time for which the goroutine waited.
type Span struct {
	Kind SpanKind
	// Name is that of the system, or of the step of the refresh. For a wait it is the system that
	// the other shard had to pass. What came before the tick is "OnTick", "functions of Between", or
	// "idle world": a capture or a plan.
	Name string
	// Shard is the shard that was worked on, or that waited. It is world.AllShards for global
	// systems and for what has no shard.
	Shard int
	// Worker is the number of the goroutine that did it, from 0. It is -1 for a wait, and for a
	// step as a whole, whose parts follow it.
	Worker int
	// For is the shard that was waited for, the last to pass if there were several, or
	// world.AllShards.
	For      int
	From, To time.Duration
	// Critical says that the tick would have been shorter without it: it is on the longest chain of
	// spans that had to wait for each other, for a worker or for a fence.
	Critical bool
}

// SpanKind says what a Span is.
type SpanKind int

// The kinds of spans.
const (
	SpanSystem  SpanKind = iota // a run of a system
	SpanWait                    // a shard waited at a fence
	SpanBalance                 // the Balancer decided
	SpanStep                    // a step of the refresh, or a part of one
	SpanBetween                 // what came before the tick, since the last one
)

// String returns "system", "wait", "balance", "step" or "between".
func (k SpanKind) String() string {
	if names := [...]string{"system", "wait", "balance", "step", "between"}; uint(k) < uint(len(names)) {
		return names[k]
	}
	return fmt.Sprintf("SpanKind(%d)", int(k))
}

// span is a Span as a worker records it, in ticks of the clock.
type span struct {
	kind     SpanKind
	number   int32 // of the system, or of the step
	shard    int32
	from, to int64
}

// traces holds the callers of Trace and the Overruns that are kept.
//
// Ownership: safe for concurrent use; mu guards. wanted says that there are some, to be read
// without the lock.
type traces struct {
	wanted atomic.Bool
	mu     struct {
		sync.Mutex
		waiting  []*tracing
		overruns []*Overruns
		closed   error
	}
}

// tracing is a call of Trace.
type tracing struct {
	left int
	got  []Trace
	done chan error // holds one
}

// Trace records the next ticks, at most TraceTicksMax, and returns when they have been made. If the
// context ends before, or the world is closed, it returns those that were made, with the error.
// While ticks are traced, each run of a system costs a few nanoseconds more. The end of a tick that
// is returned or kept costs about half a microsecond more for each run. A system, hook or function
// must not call Trace, because its tick would never end. Safe from any goroutine at any time.
func (s *Scheduler) Trace(ctx context.Context, ticks int) ([]Trace, error) {
	mustContext(ctx, "Scheduler.Trace")
	if ticks < 1 || ticks > TraceTicksMax {
		return nil, fmt.Errorf("scheduler: Scheduler.Trace of %d ticks; want 1 to %d", ticks, TraceTicksMax)
	}
	t := &s.traces
	x := &tracing{left: ticks, done: make(chan error, 1)}
	t.mu.Lock()
	if err := t.mu.closed; err != nil {
		t.mu.Unlock()
		return nil, err
	}
	t.mu.waiting = append(t.mu.waiting, x)
	t.wanted.Store(true)
	t.mu.Unlock()
	select {
	case err := <-x.done:
		return x.got, err
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.waiting = slices.DeleteFunc(t.mu.waiting, func(y *tracing) bool { return y == x })
	t.settle()
	return x.got, ctx.Err()
}

// Overruns keeps the traces of ticks that took longer than their budget. Scheduler.KeepOverruns
// makes it.
//
// Ownership: any goroutine, at any time.
type Overruns struct {
	of     *traces
	keep   int
	traces []Trace // the oldest first; of.mu guards it
}

// KeepOverruns makes the scheduler trace all ticks from the next one on, and keep the last n that
// took longer than their budget, until Overruns.Close. It panics if n is not 1 to TraceTicksMax. It
// costs what Trace does. Several callers may keep traces at the same time. Safe from any goroutine
// at any time.
func (s *Scheduler) KeepOverruns(n int) *Overruns {
	if n < 1 || n > TraceTicksMax {
		panic(fmt.Sprintf("scheduler: Scheduler.KeepOverruns of %d; want 1 to %d", n, TraceTicksMax))
	}
	t := &s.traces
	o := &Overruns{of: t, keep: n}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.overruns = append(t.mu.overruns, o)
	t.settle()
	return o
}

// Traces returns the ticks that were kept, the oldest first. What it returns must not be changed.
func (o *Overruns) Traces() []Trace {
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	return slices.Clone(o.traces)
}

// Close stops keeping traces, and drops those that were kept. Closing twice is no error.
func (o *Overruns) Close() {
	t := o.of
	t.mu.Lock()
	defer t.mu.Unlock()
	o.traces = nil
	t.mu.overruns = slices.DeleteFunc(t.mu.overruns, func(x *Overruns) bool { return x == o })
	t.settle()
}

// settle finds out whether ticks are to be traced. The lock is held.
func (t *traces) settle() {
	t.wanted.Store(t.mu.closed == nil && len(t.mu.waiting)+len(t.mu.overruns) > 0)
}

// close sends err to the callers of Trace that wait: no more ticks come.
func (t *traces) close(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.closed = err
	for _, x := range t.mu.waiting {
		x.done <- err
	}
	t.mu.waiting = nil
	t.settle()
}

// trace keeps the trace of a tick that is over, if a call asked for it.
func (s *Scheduler) trace(took time.Duration) {
	t := &s.traces
	_, budget := s.inForce()
	overrun := took > budget
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.mu.waiting) == 0 && !(overrun && len(t.mu.overruns) > 0) {
		return
	}
	x := Trace{Tick: s.tick.number, Began: s.start, Duration: took, Between: s.before, Budget: budget, Overrun: overrun, Workers: len(s.tick.workers)}
	x.Spans, x.Omitted = s.tick.spans(s.began, s.outside.spans)
	if overrun {
		for _, o := range t.mu.overruns {
			if len(o.traces) == o.keep {
				o.traces = slices.Delete(o.traces, 0, 1)
			}
			o.traces = append(o.traces, x)
		}
	}
	for _, y := range t.mu.waiting {
		y.got = append(y.got, x)
		if y.left--; y.left == 0 {
			y.done <- nil
		}
	}
	t.mu.waiting = slices.DeleteFunc(t.mu.waiting, func(y *tracing) bool { return y.left == 0 })
	t.settle()
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

// tracedBalance asks the Balancer.
func (s *Scheduler) tracedBalance() {
	t := &s.tick
	if !t.traced || s.balancing.by == nil {
		s.balance(t.world)
		return
	}
	x := span{SpanBalance, 0, world.AllShards, clock.Now(), 0}
	s.balance(t.world)
	x.to = clock.Now()
	t.notes = append(t.notes, x)
}

// spans makes the spans of the tick that began at began, ordered, and returns how many are left
// out. before are those that came before the tick.
func (t *tick) spans(began int64, before []Span) (all []Span, omitted int) {
	to := time.Duration(0)
	for _, x := range slices.Backward(before) {
		x.From, x.To = to-x.To, to
		to = x.From
		all = append(all, x)
	}
	add := func(x span, name string, worker, of int) {
		all = append(all, Span{
			Kind: x.kind, Name: name, Shard: int(x.shard), Worker: worker, For: of,
			From: t.scale.Duration(x.from - began), To: t.scale.Duration(x.to - began),
		})
	}
	parts := map[drive.RefreshStep]bool{}
	of := func(worker int, spans []span) {
		for _, x := range spans {
			switch x.kind {
			case SpanSystem:
				add(x, t.systems[x.number].name, worker, world.AllShards)
			case SpanStep:
				parts[drive.RefreshStep(x.number)] = true
				add(x, drive.RefreshStep(x.number).String(), worker, world.AllShards)
			case SpanBalance:
				add(x, "balancer", worker, world.AllShards)
			}
		}
	}
	of(0, t.notes)
	for _, w := range t.workers {
		of(w.number, w.spans)
	}
	for i := range t.programs {
		p := &t.programs[i]
		for _, x := range p.waits {
			q, step := t.waitedFor(x.before)
			add(span{SpanWait, 0, int32(p.shard), x.from, x.to}, q.steps[step].system.name, -1, q.shard)
		}
	}
	for _, x := range t.world.StepSpans() {
		whole := span{SpanStep, int32(x.Step), world.AllShards, x.From, x.To}
		add(whole, x.Step.String(), -1, world.AllShards)
		if !parts[x.Step] {
			add(whole, x.Step.String(), 0, world.AllShards)
		}
	}
	if omitted = max(0, len(all)-TraceSpansMax); omitted > 0 {
		slices.SortStableFunc(all, func(a, b Span) int { return cmp.Compare(b.To-b.From, a.To-a.From) })
		all = slices.Clone(all[:TraceSpansMax])
	}
	slices.SortStableFunc(all, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	markCritical(all)
	return all, omitted
}
