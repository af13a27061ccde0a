package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/world"
)

// Report describes one tick. For a tick of Step, Late, Overruns, Skipped and Slipped are 0.
type Report struct {
	Tick     uint64        // number of the tick, from 0
	Duration time.Duration // as in Stats.Time
	Between  time.Duration // how much of that came before the tick itself, as in Stats.Between
	Commit   time.Duration // how long it waited for its log, as in Stats.Commit; not part of Duration
	Late     time.Duration // how long after it was due the tick began
	Overrun  bool          // it took longer than the budget
	Overruns uint64        // how many ticks of this Run took longer so far
	Skipped  uint64        // ticks given up so far, because Run was too far behind
	Slipped  time.Duration // for how long SlowClock put later ticks off so far
	Rung     int           // how many rungs of Options.Ladder were in force
}

// ErrRunning is returned by a Run while another is under way.
var ErrRunning = errors.New("scheduler: Scheduler.Run while another is under way; stop that first, or leave it to make the ticks")

// Run makes ticks at the world's TickInterval until the context ends or Stop is
// called, and then returns nil, after the tick that is under way. The Overrun policy says
// what it does when a tick takes too long. If a system with the policy StopRun panics in a
// tick, Run completes that tick and returns its error. It does the same for a function, a hook or a
// handler of an output if Options.IfPanics is StopRun. Goroutines of workers end as Step's do.
//
// It returns ErrRunning at once, and makes no tick, while another Run is under way: two would
// make twice the ticks.
//
// A goroutine of yours that waits for the outcome of a request, in Answer.Get or
// Completion.Wait, waits for a tick. When Run has returned and no more ticks come, call
// World.Close, which wakes all of them with an outcome.
func (s *Scheduler) Run(ctx context.Context) (err error) {
	mustContext(ctx, "Scheduler.Run")
	if !s.runs.CompareAndSwap(false, true) {
		return ErrRunning
	}
	defer s.runs.Store(false)
	if s.running.Load() { // before reading anything that the tick writes
		panic("scheduler: Scheduler.Run while a tick runs; a world has one tick at a time")
	}
	interval := s.w.Options().TickInterval
	s.log(slog.LevelInfo, "run begins", "tick", s.w.Tick(), "interval", interval, "workers", s.Workers(), "shards", s.w.Shards())
	s.late, s.gaveUp = rare{}, rare{}
	defer func() {
		s.logRest()
		s.log(slog.LevelInfo, "run ends", "tick", s.w.Tick(), "err", err)
	}()
	timer := time.NewTimer(interval)
	defer timer.Stop()
	due := time.Now()
	before := s.counts
	s.outside.forget()
	defer s.goTo(0)
	for {
		order, stood := s.await(ctx, timer, due)
		if order == stop {
			return nil
		}
		began := time.Now()
		if stood {
			s.log(slog.LevelInfo, "run goes on after a pause", "tick", s.w.Tick())
			due = began
		}
		r := Report{Tick: s.w.Tick(), Late: began.Sub(due)}
		took, ended, err := s.step(ctx, "Scheduler.Run")
		goesOn := err == nil || s.goesOn
		if order == stepOnce {
			due = time.Now().Add(interval) // if the pause is over
		} else if goesOn {
			interval, _ := s.inForce()
			due = s.next(due.Add(interval), interval)
		}
		if ended {
			r.Duration, r.Between, r.Commit = took, s.before, s.waited
			s.report(&r, before)
			if order != stepOnce {
				s.climb(r.Duration)
			}
		}
		if !goesOn {
			return err
		}
	}
}

// await waits until the time of the next tick, or until an order makes the tick due or ends the
// Run. It returns stop if Run is to return, and stepOnce for a single tick, in which no rung of the
// ladder is in force; stood reports whether Run stood still meanwhile. await also calls the
// functions of Between.
func (s *Scheduler) await(ctx context.Context, timer *time.Timer, due time.Time) (order orders, stood bool) {
	c := &s.control
	timer.Reset(max(0, time.Until(due)))
	for isDue := false; ctx.Err() == nil; {
		s.runBetween(ctx, "Scheduler.Run", s.control.stopping)
		if s.w.Err() != nil {
			return goOn, stood // the tick will return the error
		}
		var come <-chan time.Time
		switch c.next() {
		case stop:
			return stop, stood
		case stepOnce:
			s.goTo(0) // also if Run has not stood still before
			s.outside.forget()
			return stepOnce, true
		case standStill:
			stood = true
			s.goTo(0) // a paused Run has no ticks that take too long
			s.outside.forget()
		case goOn:
			if isDue || stood {
				return goOn, stood
			}
			come = timer.C
		}
		select {
		case <-ctx.Done():
		case <-c.changed:
		case <-come:
			isDue = true
		}
	}
	return stop, stood
}

// next returns when the next tick is due: at the given time, or later if that has passed and the
// policy says so. It counts the time and the ticks that are given up, and logs that. Called by Run,
// between ticks.
func (s *Scheduler) next(due time.Time, interval time.Duration) time.Time {
	behind := time.Since(due)
	switch s.options.Overrun {
	case CatchUp:
		if behind <= time.Duration(s.options.CatchUpMax)*interval {
			return due
		}
		return s.skip(due, behind, behind/interval, interval)
	case Skip:
		if behind <= 0 {
			return due
		}
		return s.skip(due, behind, behind/interval+1, interval)
	default:
		if behind <= 0 {
			return due
		}
		s.counts.Slipped += behind
		return due.Add(behind)
	}
}

// skip gives up n ticks, because Run is that far behind.
func (s *Scheduler) skip(due time.Time, behind, n, interval time.Duration) time.Time {
	s.counts.Skipped += uint64(n)
	x := &s.gaveUp
	if x.add(uint64(n), behind); x.due() {
		s.logGivenUp()
	}
	return due.Add(n * interval)
}

// rare is what is logged at most once a second in a Run. What comes between is summed up for the
// next record.
type rare struct {
	last  time.Time // when it was logged
	n     uint64    // how many since
	worst time.Duration
}

// add counts n more; the worst took that long.
func (r *rare) add(n uint64, took time.Duration) { r.n, r.worst = r.n+n, max(r.worst, took) }

// due reports whether it is to be logged now.
func (r *rare) due() bool { return r.last.IsZero() || time.Since(r.last) >= time.Second }

// take begins anew, after a record of what it returns.
func (r *rare) take() (n uint64, worst time.Duration) {
	n, worst = r.n, r.worst
	*r = rare{last: time.Now()}
	return n, worst
}

// logOverrun logs a tick that took too long, or counts it for the next record.
func (s *Scheduler) logOverrun(r *Report, budget time.Duration) {
	x := &s.late
	if !x.due() {
		x.add(1, r.Duration)
		return
	}
	values := []any{"tick", r.Tick, "took", r.Duration, "between ticks", r.Between, "budget", budget}
	if n, worst := x.take(); n > 0 {
		values = append(values, "more since the last record", n, "the worst took", worst)
	}
	s.log(slog.LevelWarn, "tick took too long", values...)
}

// logGivenUp logs the ticks that were given up since the last record.
func (s *Scheduler) logGivenUp() {
	n, worst := s.gaveUp.take()
	s.log(slog.LevelWarn, "ticks given up", "tick", s.w.Tick(), "ticks", n, "behind by at most", worst)
}

// logRest logs what is left for a record when Run ends.
func (s *Scheduler) logRest() {
	if s.late.n > 0 {
		n, worst := s.late.take()
		s.log(slog.LevelWarn, "more ticks took too long", "ticks", n, "the worst took", worst)
	}
	if s.gaveUp.n > 0 {
		s.logGivenUp()
	}
}

// report completes the Report of a tick of Run, and logs and delivers it. before has the counts
// from before Run began.
func (s *Scheduler) report(r *Report, before Stats) {
	_, budget := s.inForce()
	if r.Overrun = r.Duration > budget; r.Overrun {
		s.counts.Overruns++
		if s.options.Logger != nil {
			s.logOverrun(r, budget)
		}
	}
	r.Overruns = s.counts.Overruns - before.Overruns
	r.Skipped = s.counts.Skipped - before.Skipped
	r.Slipped = s.counts.Slipped - before.Slipped
	if s.options.OnTick != nil {
		s.onTick(*r)
	}
}

// inForce returns the time from one tick of Run to the next and the time that a tick may take, with
// the rungs that are in force.
func (s *Scheduler) inForce() (interval, budget time.Duration) {
	slow := time.Duration(s.ladder.slow(s.ladder.at))
	return s.w.Options().TickInterval * slow, s.options.Budget * slow
}

// climb goes a rung up or down, after a tick of Run.
func (s *Scheduler) climb(took time.Duration) {
	l := &s.ladder
	if len(l.rungs) == 0 {
		return
	}
	l.late = l.late << 1 & (1<<lateOf - 1)
	if _, budget := s.inForce(); took > budget {
		l.late |= 1
	}
	l.calm++
	if l.at == 0 || took > time.Duration(calmShare*float64(s.options.Budget))*time.Duration(l.slow(l.at-1)) {
		l.calm = 0
	}
	switch {
	case bits.OnesCount64(l.late) >= lateTicks && l.at < len(l.rungs):
		s.goTo(l.at + 1)
	case l.calm >= calmTicks:
		s.goTo(l.at - 1)
	}
}

// goTo puts n rungs in force from the next tick on.
func (s *Scheduler) goTo(n int) {
	l := &s.ladder
	for l.at != n {
		i, by := l.at-1, -1
		if l.at < n {
			i, by = l.at, 1
		}
		for _, x := range l.rungs[i].refuse {
			l.w.RefuseAtPorts(x, by)
		}
		l.note(Climb{time.Now(), s.w.Tick(), l.at, l.at + by, l.rungs[i]})
		if by > 0 {
			l.at++
			s.log(slog.LevelWarn, "a rung up the ladder: ticks take too long", "rung", l.at, "what", l.rungs[i])
		} else {
			l.at--
			s.log(slog.LevelInfo, "a rung down the ladder", "rung", l.at, "without", l.rungs[i])
		}
	}
	l.late, l.calm = 0, 0
}

// control carries orders from other goroutines to a Run.
//
// Ownership: safe for concurrent use; mu guards. changed wakes the Run.
type control struct {
	changed chan struct{} // holds one
	mu      struct {
		sync.Mutex
		paused  bool
		steps   int // ticks to make while paused
		stopped bool
	}
}

func (c *control) init() { c.changed = make(chan struct{}, 1) }

// notify changes the orders of Run, and wakes it.
func (c *control) notify(change func()) {
	c.mu.Lock()
	change()
	c.mu.Unlock()
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// Pause makes Run stand still after the tick that is under way: the world is idle
// but still belongs to Run. Ticks of StepOnce that have not begun are dropped. Safe from any
// goroutine at any time; a system may call it. It does not wait. It has no effect on Step.
func (s *Scheduler) Pause() {
	s.control.notify(func() { s.control.mu.paused, s.control.mu.steps = true, 0 })
}

// Resume ends a pause. Ticks that would have been due during the pause are not made up
// for. Safe as Pause.
func (s *Scheduler) Resume() {
	s.control.notify(func() { s.control.mu.paused, s.control.mu.steps = false, 0 })
}

// StepOnce makes a paused Run make one tick at once. Several calls make several ticks. Such a tick
// has no time at which it is due, so it is never late: no rung of Options.Ladder is in force in it,
// and after it Run goes up no rung and skips no ticks. StepOnce reports whether Run was paused.
// Safe as Pause.
func (s *Scheduler) StepOnce() bool {
	paused := false
	s.control.notify(func() {
		if paused = s.control.mu.paused; paused {
			s.control.mu.steps++
		}
	})
	return paused
}

// Stop makes Run return nil after the tick that is under way, or the next Run at
// once if there is none. Safe as Pause.
func (s *Scheduler) Stop() { s.control.notify(func() { s.control.mu.stopped = true }) }

// Paused reports whether Run stands still, or would if it were under way. Safe as Pause.
func (s *Scheduler) Paused() bool {
	s.control.mu.Lock()
	defer s.control.mu.Unlock()
	return s.control.mu.paused
}

// Running reports whether a Run is under way, paused or not. Safe as Pause.
func (s *Scheduler) Running() bool { return s.runs.Load() }

// orders is what control tells Run to do at a moment.
type orders int

const (
	goOn orders = iota
	standStill
	stepOnce
	stop
)

// stopping reports whether Run is to return.
func (c *control) stopping() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.stopped
}

// next takes the next order.
func (c *control) next() orders {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.mu.stopped:
		c.mu.stopped = false
		return stop
	case c.mu.paused && c.mu.steps > 0:
		c.mu.steps--
		return stepOnce
	case c.mu.paused:
		return standStill
	}
	return goOn
}

// BetweenMax is how many functions of Between can wait.
const BetweenMax = 1024

// between holds the functions that wait to be called between ticks.
//
// Ownership: safe for concurrent use; mu guards. count is the length of waiting, to be read without
// the lock. called belongs to the goroutine that runs functions.
type between struct {
	busy   atomic.Bool // a goroutine runs functions
	called []called
	count  atomic.Int32
	mu     struct {
		sync.Mutex
		waiting []asked
		closed  error // the world's error, once it is closed or broken
	}
}

// called is a function that was called, its result, and the channel that gets the result.
type called struct {
	done chan<- error
	err  error
}

// asked is a call of Between.
type asked struct {
	f    func(*world.World)
	done chan<- error
}

// Between has f called once while the world is idle. Run calls it as soon as the tick that is under
// way has ended, also while Run is paused; the next Step calls it before its tick. f may use the
// World for everything but a tick. This is how any other goroutine looks at a running world, saves
// it or changes it. The next tick waits for f, and its time counts for that tick. The functions are
// called one at a time, in the order of the calls of Between.
//
// The channel gets one value: nil when f has returned, a *world.PanicError if f panicked, the
// world's error if it is closed or broken by then, or world.ErrFull at once if BetweenMax functions
// wait. The caller need not receive it. A scheduler that makes no more ticks does not call f: the
// channel then gets its value when the world is closed or breaks. A system, function or hook must
// not receive from the channel, because its tick would never end; nor must OnTick or f, because the
// next tick would never begin.
//
// Changes by f are not inputs: a log of inputs does not record them.
//
// Safe from any goroutine at any time, also from within f.
func (s *Scheduler) Between(f func(*world.World)) <-chan error {
	if f == nil {
		panic("scheduler: Scheduler.Between of a nil function; pass one to call")
	}
	done := make(chan error, 1)
	b := &s.between
	b.mu.Lock()
	err := b.mu.closed
	if len(b.mu.waiting) == BetweenMax {
		err = fmt.Errorf("%w: %d functions wait to be called between ticks", world.ErrFull, BetweenMax)
	}
	if err != nil {
		b.mu.Unlock()
		done <- err
		return done
	}
	b.mu.waiting = append(b.mu.waiting, asked{f, done})
	b.count.Store(int32(len(b.mu.waiting)))
	b.mu.Unlock()
	s.control.notify(func() {})
	return done
}

// runBetween calls the functions that wait now; call is the name of the call for messages. If the
// context ends or the Run is stopping, it leaves the rest to the next Run or Step.
func (s *Scheduler) runBetween(ctx context.Context, call string, stopping func() bool) {
	b := &s.between
	if b.count.Load() == 0 && !b.busy.Load() {
		return
	}
	if s.running.Load() || !b.busy.CompareAndSwap(false, true) {
		panic("scheduler: " + call + " while a tick, or a function of Between, runs; a world has one tick at a time")
	}
	defer b.busy.Store(false)
	defer s.workedOutside(inBetweenTicks, time.Now())
	defer b.answer()
	defer s.lookForChanges() // before answer sends the results
	for n := b.count.Load(); n > 0 && ctx.Err() == nil && !stopping(); n-- {
		if x, ok := b.next(); ok {
			s.call(x)
		}
	}
}

// next takes the first function that waits. There may be none left if one has closed the world.
func (b *between) next() (x asked, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.mu.waiting) == 0 {
		return x, false
	}
	x = b.mu.waiting[0]
	b.mu.waiting = slices.Delete(b.mu.waiting, 0, 1)
	b.count.Store(int32(len(b.mu.waiting)))
	return x, true
}

// call calls a function of Between.
func (s *Scheduler) call(x asked) {
	ended := func(err error) { s.between.called = append(s.between.called, called{x.done, err}) }
	if err := s.w.Err(); err != nil {
		ended(err)
		return
	}
	returned := false
	defer func() {
		if returned {
			ended(nil)
			return
		}
		v := recover()
		if v == nil {
			v = aside.ErrGoexit // recover does not stop it
		}
		err := &world.PanicError{In: inBetween, Shard: world.AllShards, Tick: s.w.Tick(), Value: v, Stack: debug.Stack()}
		s.counts.Panics++
		s.logPanic(err, "function between ticks panicked", "tick", err.Tick)
		ended(err)
	}()
	x.f(s.w)
	returned = true
}

// answer sends the results of the functions that were called.
func (b *between) answer() {
	for _, x := range b.called {
		x.done <- x.err
	}
	clear(b.called)
	b.called = b.called[:0]
}

// close sends err to all callers of Between that wait, and keeps it for later ones.
func (b *between) close(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, x := range b.mu.waiting {
		x.done <- err
	}
	b.mu.waiting, b.mu.closed = nil, err
	b.count.Store(0)
}

// lookForChanges notifies a log of inputs if the idle world was changed by something that a replay
// does not repeat.
func (s *Scheduler) lookForChanges() {
	if !s.running.Load() { // else the call that goes on panics
		s.tick.engine.LookForChanges()
	}
}

// outside is what the goroutine of Run or Step did besides ticks since the last one. The next tick
// comes that much later, so it counts for that tick.
//
// Ownership: the goroutine of Run or Step.
type outside struct {
	took  time.Duration
	spans []Span // from 0 on, each; only while ticks are traced
}

// What is done outside of ticks.
const (
	inOnTick       = "OnTick"
	inBetweenTicks = "functions of Between"
	inHandlers     = "handlers of outputs"
	beforeTick     = "idle world"
)

// leastSpan is how long something outside of ticks must take to have a span.
const leastSpan = 10 * time.Microsecond

// workedOutside counts what was done outside of ticks since a time, up to now.
func (s *Scheduler) workedOutside(on string, since time.Time) {
	s.tookOutside(on, time.Since(since))
}

// tookOutside counts what was done outside of ticks.
func (s *Scheduler) tookOutside(on string, took time.Duration) {
	o := &s.outside
	o.took += took
	if took >= leastSpan && len(o.spans) < TraceSpansMax && s.traces.wanted.Load() {
		o.spans = append(o.spans, Span{Kind: SpanBetween, Name: on, Shard: world.AllShards, For: world.AllShards, To: took})
	}
}

// forget begins anew: with a tick that is over, or because no tick was due meanwhile.
func (o *outside) forget() { o.took, o.spans = 0, o.spans[:0] }
