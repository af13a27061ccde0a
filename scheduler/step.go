package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/internal/clock"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// Step runs one tick: all systems on all shards, then the refresh. It returns, without running, the
// context's error if the context has ended, world.ErrClosed if the world is closed, and an error if
// Before or After names a system that was not added.
//
// A system that panics does not stop the tick, nor does one that calls runtime.Goexit, as a
// failing test does. The error joins a *world.PanicError for each of these, for each function and
// each hook that panicked in the refresh, and for each handler of an output that panicked then. If
// the world breaks, the error is, or joins, a *world.BrokenError, which every later Step
// returns, too.
//
// Step leaves no goroutine behind for long. Where ticks with the same context follow each other at
// once, the other workers stay awake for the next one, up to 50 µs, and end then. They have the
// profile labels of the first Step that used that context. In the steady state it allocates
// nothing.
func (s *Scheduler) Step(ctx context.Context) error {
	mustContext(ctx, "Scheduler.Step")
	if err := ctx.Err(); err != nil {
		return err
	}
	s.runBetween(ctx, "Scheduler.Step", func() bool { return false }) // Stop is for Run
	if s.options.OnTick == nil {
		_, _, err := s.step(ctx, "Scheduler.Step")
		return err
	}
	r := Report{Tick: s.w.Tick()}
	took, ended, err := s.step(ctx, "Scheduler.Step")
	if ended {
		r.Duration, r.Between, r.Commit, r.Overrun = took, s.before, s.waited, took > s.options.Budget
		s.onTick(r)
	}
	return err
}

// onTick calls OnTick. A replay repeats what it changes in the world. Systems that it switches
// cannot be told apart from those that other goroutines switch meanwhile, so both count as changes
// of the idle world.
func (s *Scheduler) onTick(r Report) {
	r.Rung = s.ladder.ran
	defer s.workedOutside(inOnTick, time.Now())
	s.tick.engine.Replayed(func() { s.options.OnTick(r) })
}

// step makes a tick; call is the name of the call for messages. The other workers have left the
// tick when it ends, even if a panic or runtime.Goexit ends it. ended reports whether there was a
// tick, and the world is whole; took is how long the tick took.
func (s *Scheduler) step(ctx context.Context, call string) (took time.Duration, ended bool, err error) {
	called := time.Since(s.made) // reads one clock; time.Now reads two
	s.lookForChanges()
	if !s.running.CompareAndSwap(false, true) {
		panic("scheduler: " + call + " while a tick runs; a world has one tick at a time")
	}
	s.ended = false
	defer func() {
		took, ended = s.took, s.ended
		s.running.Store(false)
		err = s.tell(err)
	}()
	s.goesOn = false
	if err := s.w.Err(); err != nil {
		return 0, false, err
	}
	if err := s.prepare(); err != nil {
		return 0, false, err
	}
	s.start, s.began = time.Now(), clock.Now()
	s.tookOutside(beforeTick, s.start.Sub(s.made)-called)
	s.switchSystems()
	early := s.decide(s.ladder.begin())
	if err := s.w.Err(); err != nil { // a condition may have closed the world
		return 0, false, err
	}
	t := &s.tick
	if t.world, err = s.beginTick(call); err != nil {
		return 0, false, err
	}
	t.observed = t.observer.begin(ctx)
	t.beginTrace(s.traces.wanted.Load())
	begun, ran := false, false
	defer func() {
		if ran {
			return
		}
		if v := recover(); v != nil { // not a panic of a system: those are caught
			err = s.giveUp(ctx, early, v)
			return
		}
		// A system, or the Balancer, has ended this goroutine. The tick is still completed.
		if !begun {
			t.world.Seal()
			t.begin(ctx, t.world)
		}
		t.helpers.Add(1)
		go t.workers[0].run()
		t.awaitSystems()
		_ = s.refresh(ctx, early)
	}()
	s.tracedBalance()
	t.world.Seal()
	begun = true
	t.begin(ctx, t.world)
	t.runSystems(t.workers[0])
	ran = true
	return 0, true, s.refresh(ctx, early)
}

// decide finds the systems that run in the next tick, and returns the panics of
// conditions. If skip is set, optional systems do not run.
func (s *Scheduler) decide(skip bool) (early []failure) {
	tick := s.w.Tick()
	for i, x := range s.tick.systems {
		if x.restarts {
			x.restarts = false
			clear(x.off)
			s.tick.each(i, func(_ int, step *step) { step.off = false })
		}
		due := x.on && x.due(tick) && !(skip && x.optional)
		if due && len(x.when) > 0 {
			var err *world.PanicError
			if due, err = x.holds(s.w); err != nil {
				early = append(early, failure{err, x})
			}
		}
		s.tick.due[i] = due
	}
	return early
}

// beginTick takes the world; call is the name of the call for messages. It returns an error if the
// world breaks.
func (s *Scheduler) beginTick(call string) (w *engine.Tick, err error) {
	defer func() { // without a panic there is nothing to recover
		if v := recover(); v != nil {
			broken, ok := v.(*world.BrokenError)
			if !ok {
				panic(fmt.Sprintf("scheduler: %s: %v", call, v))
			}
			err = s.broke(broken)
		}
	}()
	return s.tick.engine.BeginTick(), nil
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

// balance asks the Balancer, and passes its decisions to the world. No system has run.
func (s *Scheduler) balance(w *engine.Tick) {
	b := &s.balancing
	if b.by == nil {
		return
	}
	b.shifts = b.shifts[:0]
	if !b.system.enabled.Load() {
		return
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		if v == nil {
			v = aside.ErrGoexit
		}
		b.shifts = b.shifts[:0]
		b.err = &world.PanicError{In: inBalancer, Shard: world.AllShards, Tick: w.Number(), Value: v, Stack: debug.Stack()}
	}()
	for i := range b.costs {
		b.costs[i] = ShardCost{Entities: w.Entities(i), Time: s.tick.scale.Duration(s.tick.programs[i].cost)}
	}
	b.shifts = b.by.Balance(w.Number(), b.costs, b.shifts)
	b.passed = b.passed[:0]
	for _, x := range b.shifts {
		b.passed = append(b.passed, extend.Shift(x))
	}
	w.Shift(b.passed)
	returned = true
	if len(b.shifts) == 0 {
		return
	}
	n := uint64(0)
	for _, x := range b.shifts {
		n += uint64(x.Entities)
	}
	s.counts.Shifts += uint64(len(b.shifts))
	s.counts.Shifted += n
	if s.options.Logger != nil { // without this check the values would be allocated even if there is no Logger
		s.log(slog.LevelInfo, "entities shifted", "tick", w.Number(), "entities", n, "shifts", len(b.shifts))
	}
}

// refresh makes the refresh and settles the tick. The world is idle only when it is settled, so
// that nobody closes the world beside that. If the world breaks, the tick is over, too.
func (s *Scheduler) refresh(ctx context.Context, early []failure) (err error) {
	t := &s.tick
	done := false
	defer func() {
		if done {
			return
		}
		v := recover() // nil: an extension has ended this goroutine
		t.finish()
		if broken, ok := v.(*world.BrokenError); ok || v == nil {
			err = s.settle(ctx, early, broken, nil)
			return
		}
		panic(v)
	}()
	if lost := s.commit(); lost != nil {
		done = true
		t.finish()
		return s.settle(ctx, early, nil, lost)
	}
	endRegion := t.region("refresh")
	t.world.Refresh(t.inParallel)
	done = true
	endRegion()
	t.finish()
	return s.settle(ctx, early, nil, nil)
}

// commit waits until the log has what the refresh will apply, if the tick is sealed. It returns an
// error if the world is closed because the log cannot have it.
func (s *Scheduler) commit() error {
	t := &s.tick
	if s.waited = 0; !t.world.Sealed() {
		return nil
	}
	endRegion := t.region("commit")
	x := span{SpanCommit, 0, world.AllShards, clock.Now(), 0}
	t.committing.Store(x.from)
	err := t.world.Commit()
	t.committing.Store(0)
	x.to = clock.Now()
	endRegion()
	s.waited = t.scale.Duration(x.to - x.from)
	s.counts.Commit.Add(s.waited)
	if t.traced {
		t.notes = append(t.notes, x)
	}
	if err != nil {
		err = s.w.Err()
	}
	return err
}

// giveUp ends a tick that cannot be completed because of a fault of the scheduler itself.
func (s *Scheduler) giveUp(ctx context.Context, early []failure, v any) error {
	t := &s.tick
	t.unfinished.Store(0) // so that no worker waits for the program that this goroutine had
	t.finish()
	var broken *world.BrokenError
	errors.As(t.world.Break(v), &broken)
	return s.settle(ctx, early, broken, nil)
}

// settle adds up a tick that is over, and joins the panics in this order: of conditions; of systems,
// by shard and in the order of the systems; of global systems; of the balancer; of functions, then
// of hooks, in the refresh, by shard; of a Recorder; of the watchdog; and what broke the world, or why it
// was closed.
func (s *Scheduler) settle(ctx context.Context, early []failure, broken *world.BrokenError, lost error) error {
	t := &s.tick
	defer t.world.Leave()
	t.observer.end(ctx)
	t.settle()
	s.ended = broken == nil && lost == nil
	s.counts.Ticks++
	s.record()
	panics := early
	for i := range t.programs {
		p := &t.programs[i]
		if len(p.errs) > 0 {
			panics = append(panics, p.errs...)
			p.errs = nil
		}
	}
	if s.balancing.err != nil {
		panics = append(panics, failure{s.balancing.err, s.balancing.system})
		s.balancing.err = nil
	}
	s.logRefused()
	calls, omitted, more := t.world.Failures()
	hooks, recorder, notify := t.world.FailedHooks(), t.world.FailedRecorder(), t.watchdog.takeFailed()
	if len(panics)+len(calls)+len(hooks) == 0 && recorder == nil && notify == nil && s.ended {
		return nil
	}
	s.goesOn = recorder == nil && s.ended && (len(calls)+len(hooks) == 0 || s.options.IfPanics != StopRun)
	all := make([]error, 0, len(panics)+len(calls)+len(hooks)+4)
	for _, e := range panics {
		all = append(all, e.PanicError)
		s.applyPolicy(e)
		s.goesOn = s.goesOn && e.system.policy != StopRun
	}
	for _, x := range calls {
		e := shown(x)
		all = append(all, e)
		s.counts.Panics++
		s.logPanic(e, "function panicked", "function", e.Name, "on", e.On, "shard", e.Shard, "tick", e.Tick)
	}
	if omitted > 0 {
		all = append(all, more)
		s.counts.Panics += uint64(omitted)
		s.log(slog.LevelError, "more functions panicked", "calls", omitted, "tick", t.number)
	}
	for _, x := range hooks {
		all = append(all, x.Err)
		s.applyHookPolicy(x)
	}
	if recorder != nil {
		all = append(all, recorder.Err)
		s.counts.Panics++
		s.logPanic(shown(recorder), "recorder panicked", "method", recorder.Name, "tick", recorder.Tick)
	}
	if notify != nil {
		all = append(all, notify)
		s.counts.Panics++
		s.logPanic(notify, "Watchdog.Notify panicked", "tick", notify.Tick)
	}
	if broken != nil {
		all = append(all, s.broke(broken))
	}
	if lost != nil {
		all = append(all, lost)
		s.log(slog.LevelError, "world closed without a refresh", "tick", t.number, "because", lost)
	}
	return errors.Join(all...)
}

// tell calls the handlers of outputs, after a tick that returns err, and adds their panics to that. A
// handler must not make a tick, as a function of Between must not.
func (s *Scheduler) tell(err error) (all error) {
	w := s.tick.engine
	if !w.Told() {
		return err
	}
	s.between.busy.Store(true)
	defer func() { // also if a handler ends this goroutine
		s.between.busy.Store(false)
		all = s.told(err)
	}()
	defer s.workedOutside(inHandlers, time.Now())
	w.Tell()
	return err
}

// told adds the panics of handlers of outputs to an error.
func (s *Scheduler) told(err error) error {
	failed, omitted, more := s.tick.engine.FailedOutputs()
	if len(failed) == 0 {
		return err
	}
	s.goesOn = (err == nil || s.goesOn) && s.options.IfPanics != StopRun
	all := []error{err}
	for _, x := range failed {
		e := shown(x)
		all = append(all, e)
		s.counts.Panics++
		s.logPanic(e, "handler of an output panicked", "output", e.Name, "tick", e.Tick)
	}
	if omitted > 0 {
		all = append(all, more)
		s.counts.Panics += uint64(omitted)
		s.log(slog.LevelError, "more handlers of outputs panicked", "calls", omitted, "tick", failed[0].Tick)
	}
	return errors.Join(all...)
}

// shown returns a panic of the world as programs see it.
func shown(p *engine.Panic) *world.PanicError { return p.Err.(*world.PanicError) }

// applyPolicy applies the policy of a system that panicked.
func (s *Scheduler) applyPolicy(e failure) {
	s.counts.Panics++
	x := e.system
	switch {
	case x.policy == DisableSystem, x.policy == DisableOnShard && e.Shard == world.AllShards:
		x.enabled.Store(false)
		x.on = false
	}
	s.logPanic(e.PanicError, "system panicked", "system", e.Name, "shard", e.Shard, "tick", e.Tick, "policy", x.policy)
}

// applyHookPolicy applies the policy to a hook that panicked.
func (s *Scheduler) applyHookPolicy(x *engine.Panic) {
	s.counts.Panics++
	e := shown(x)
	switch s.options.IfPanics {
	case DisableSystem:
		s.tick.world.DisableHook(x, world.AllShards)
	case DisableOnShard:
		s.tick.world.DisableHook(x, e.Shard)
	}
	s.logPanic(e, "hook panicked", "hook", e.Name, "on", e.Event, "shard", e.Shard, "tick", e.Tick, "policy", s.options.IfPanics)
}

// logRefused logs the transactions of systems that the refresh has refused: nobody else is told.
func (s *Scheduler) logRefused() {
	all, omitted := s.tick.world.Refused()
	if len(all) == 0 || s.options.Logger == nil {
		return
	}
	for _, x := range all {
		s.log(slog.LevelWarn, "transaction refused", "transaction", x.Name, "shard", x.Shard, "tick", s.tick.number, "err", x.Err)
	}
	if omitted > 0 {
		s.log(slog.LevelWarn, "more transactions refused", "transactions", omitted, "tick", s.tick.number)
	}
}

// logPanic logs a panic, with what args say about it.
func (s *Scheduler) logPanic(e *world.PanicError, message string, args ...any) {
	if s.options.Logger != nil {
		s.log(slog.LevelError, message, append(args, "panic", e.Value, "stack", string(e.Stack))...)
	}
}

// broke counts and logs the panic that broke the world.
func (s *Scheduler) broke(e *world.BrokenError) error {
	s.counts.Panics++
	s.log(slog.LevelError, "world broke", "during", e.During, "tick", e.Tick, "panic", e.Value, "stack", string(e.Stack))
	return e
}
