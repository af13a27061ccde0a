package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/atoll-sim/atoll/internal/extend"
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
	// the other shard had to pass. What came before the tick is "OnTick", "functions of Between",
	// or "idle world": a capture or a schedule.
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
	x := t.begin(ticks, false)
	defer t.end(x)
	select {
	case err := <-x.done: // no tick comes any more, whatever ctx says
		return nil, err
	default:
	}
	select {
	case err := <-x.done:
		return x.got, err
	case <-ctx.Done():
		return t.gotBy(x), ctx.Err()
	}
}

// Overruns keeps the traces of ticks that took longer than their budget. Scheduler.KeepOverruns
// makes it.
//
// Ownership: any goroutine, at any time.
type Overruns struct {
	of *traces
	is *tracing
}

// KeepOverruns makes the scheduler trace all ticks from the next one on, and keep the last n that
// took longer than their budget, until Overruns.Close. It panics if n is not 1 to TraceTicksMax. It
// costs what Trace does. Several callers may keep traces at the same time. Safe from any goroutine
// at any time.
func (s *Scheduler) KeepOverruns(n int) *Overruns {
	if n < 1 || n > TraceTicksMax {
		panic(fmt.Sprintf("scheduler: Scheduler.KeepOverruns of %d; want 1 to %d", n, TraceTicksMax))
	}
	return &Overruns{&s.traces, s.traces.begin(n, true)}
}

// Traces returns the ticks that were kept, the oldest first. What it returns must not be changed.
func (o *Overruns) Traces() []Trace { return o.of.gotBy(o.is) }

// Close stops keeping traces, and drops those that were kept. Closing twice is no error.
func (o *Overruns) Close() { o.of.end(o.is) }

// traces holds the callers of Trace and the Overruns that are kept.
//
// Ownership: safe for concurrent use; mu guards. wanted says that there are some, to be read
// without the lock.
type traces struct {
	wanted atomic.Bool
	mu     struct {
		sync.Mutex
		all    []*tracing
		closed error
	}
}

// tracing is a call of Trace, or an Overruns.
type tracing struct {
	most     int
	overruns bool       // it takes only ticks that overran, and keeps the last ones
	got      []Trace    // the oldest first; traces.mu guards it until done has a value
	done     chan error // holds one: it has all, or no more come
}

// begin has ticks traced.
func (t *traces) begin(most int, overruns bool) *tracing {
	x := &tracing{most: most, overruns: overruns, done: make(chan error, 1)}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.closed != nil {
		x.done <- t.mu.closed
		return x
	}
	t.mu.all = append(t.mu.all, x)
	t.wanted.Store(true)
	return x
}

// end ends a tracing. The caller has what it wants of it.
func (t *traces) end(x *tracing) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x.got = nil
	t.mu.all = slices.DeleteFunc(t.mu.all, func(y *tracing) bool { return y == x })
	t.wanted.Store(len(t.mu.all) > 0)
}

// gotBy returns the ticks that a tracing has.
func (t *traces) gotBy(x *tracing) []Trace {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(x.got)
}

// close sends err to the callers of Trace that wait: no more ticks come.
func (t *traces) close(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.closed = err
	for _, x := range t.mu.all {
		x.done <- err
	}
	t.mu.all = nil
	t.wanted.Store(false)
}

// trace keeps the trace of a tick that is over, if a call asked for it.
func (s *Scheduler) trace(took time.Duration) {
	t := &s.traces
	_, budget := s.inForce()
	overrun := took > budget
	t.mu.Lock()
	defer t.mu.Unlock()
	wants := func(y *tracing) bool { return overrun || !y.overruns }
	if !slices.ContainsFunc(t.mu.all, wants) {
		return
	}
	x := Trace{Tick: s.tick.number, Began: s.start, Duration: took, Between: s.before, Budget: budget, Overrun: overrun, Workers: len(s.tick.workers)}
	x.Spans, x.Omitted = s.tick.spans(s.began, s.outside.spans)
	t.mu.all = slices.DeleteFunc(t.mu.all, func(y *tracing) (ended bool) {
		if !wants(y) {
			return false
		}
		if len(y.got) == y.most {
			y.got = slices.Delete(y.got, 0, 1)
		}
		y.got = append(y.got, x)
		if ended = !y.overruns && len(y.got) == y.most; ended {
			y.done <- nil
		}
		return ended
	})
	t.wanted.Store(len(t.mu.all) > 0)
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
	parts := map[extend.RefreshStep]bool{}
	of := func(worker int, spans []span) {
		for _, x := range spans {
			switch x.kind {
			case SpanSystem:
				add(x, t.systems[x.number].name, worker, world.AllShards)
			case SpanStep:
				parts[extend.RefreshStep(x.number)] = true
				add(x, extend.RefreshStep(x.number).String(), worker, world.AllShards)
			case SpanBalance:
				add(x, "balancer", worker, world.AllShards)
			case SpanCommit:
				add(x, "log", worker, world.AllShards)
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

// markCritical marks the spans on the critical path of a tick. It goes from the end of the tick
// back to its beginning. A span can have waited for three others: the one before it of the same
// worker, the one before it in the same shard, and, if the shard stood at a fence, the one that
// opened the fence. The path goes on with the one of these that ended last.
func markCritical(all []Span) {
	c := chains{all, map[int][]int{}, map[int][]int{}, map[int][]int{}}
	last := -1
	for i := range all {
		switch x := &all[i]; {
		case x.Kind == SpanSystem:
			c.ofWorker[x.Worker] = append(c.ofWorker[x.Worker], i)
			c.ofShard[x.Shard] = append(c.ofShard[x.Shard], i)
			if last < 0 || x.To > all[last].To {
				last = i
			}
		case x.Kind == SpanWait:
			c.waits[x.Shard] = append(c.waits[x.Shard], i)
		case x.Kind == SpanBalance, x.Kind == SpanBetween, x.Kind == SpanCommit, x.Worker < 0:
			x.Critical = true // the steps of a refresh follow one another, as does what comes before
		}
	}
	for last >= 0 && !all[last].Critical {
		all[last].Critical = true
		last = c.before(last)
	}
	markParts(all)
}

// markParts marks in each step of the refresh the part that ended last.
func markParts(all []Span) {
	for i := range all {
		whole := &all[i]
		if whole.Kind != SpanStep || whole.Worker >= 0 {
			continue
		}
		last := -1
		for k := i; k < len(all) && all[k].From <= whole.To; k++ {
			if x := &all[k]; x.Kind == SpanStep && x.Worker >= 0 && x.Name == whole.Name && x.To <= whole.To && (last < 0 || x.To > all[last].To) {
				last = k
			}
		}
		if last >= 0 {
			all[last].Critical = true
		}
	}
}

// chains holds spans of systems by worker and by shard, as numbers in a list that is ordered by
// From. Spans of one worker do not overlap, nor do those of one shard.
type chains struct {
	all      []Span
	ofWorker map[int][]int
	ofShard  map[int][]int
	waits    map[int][]int
}

// before returns the last to end of the spans that span i had to wait for, or -1.
func (c *chains) before(i int) int {
	x := &c.all[i]
	found := -1
	later := func(k int) {
		if k >= 0 && (found < 0 || c.all[k].To > c.all[found].To) {
			found = k
		}
	}
	later(c.previous(c.ofWorker[x.Worker], i))
	later(c.previous(c.ofShard[x.Shard], i))
	for _, k := range c.waits[x.Shard] {
		if w := &c.all[k]; w.To == x.From {
			later(c.passing(w))
		}
	}
	return found
}

// previous returns the number before i in a list.
func (c *chains) previous(list []int, i int) int {
	if k, _ := slices.BinarySearch(list, i); k > 0 {
		return list[k-1]
	}
	return -1
}

// passing returns the last span of the shard that a wait was for, before the end of the wait. That
// is the system that the shard had to pass, or the one before it if that did not run.
func (c *chains) passing(w *Span) int {
	list := c.ofShard[w.For]
	k, _ := slices.BinarySearchFunc(list, w.To, func(i int, to time.Duration) int { return cmp.Compare(c.all[i].From, to) })
	for k--; k >= 0; k-- {
		if x := &c.all[list[k]]; x.To <= w.To && (x.Name == w.Name || x.To <= w.From) {
			return list[k]
		}
	}
	return -1
}
