package scheduler

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/atoll-sim/atoll/world"
)

// step makes a tick. The helpers are gone when it returns, however it does.
func (s *Scheduler) step(ctx context.Context) error {
	if !s.running.CompareAndSwap(false, true) {
		panic("scheduler: Step while a tick runs; a world has one tick at a time")
	}
	defer s.running.Store(false)
	if s.w.Closed() {
		return world.ErrClosed
	}
	if err := s.prepare(); err != nil {
		return err
	}
	early := s.decide()
	t := &s.tick
	w := s.w.BeginTick()
	t.observed = t.observer.begin(ctx)
	ended := false
	defer func() {
		if r := recover(); r != nil {
			t.finish()
			t.observer.end(ctx)
			panic(r)
		}
		if !ended { // a system has ended this goroutine; the tick is completed all the same
			t.helpers.Add(1)
			go t.crew[0].start()
			t.awaitSystems()
			s.balance(w)
			t.world.End(t.parallel)
			t.finish()
			_ = s.settle(ctx, early)
		}
	}()
	t.begin(w)
	t.runSystems(t.crew[0])
	s.balance(w)
	endRegion := t.region("refresh")
	t.world.End(t.parallel)
	endRegion()
	t.finish()
	ended = true
	return s.settle(ctx, early)
}

// decide finds the systems that run in the next tick, and returns the panics of
// conditions.
func (s *Scheduler) decide() (early []*SystemError) {
	tick := s.w.Tick()
	for i, x := range s.tick.systems {
		if x.pardoned.Load() && x.pardoned.Swap(false) {
			clear(x.off)
			s.tick.each(i, func(_ int, step *step) { step.off = false })
		}
		due := x.enabled.Load() && x.due(tick)
		if due && len(x.when) > 0 {
			var err *SystemError
			if due, err = x.holds(s.w); err != nil {
				early = append(early, err)
			}
		}
		s.tick.due[i] = due
	}
	return early
}

// holds asks the system's conditions.
func (x *system) holds(w *world.World) (all bool, err *SystemError) {
	defer func() {
		if v := recover(); v != nil {
			all = false
			err = &SystemError{System: x.name, Shard: world.Everywhere, Tick: w.Tick(), Value: v, Stack: debug.Stack(), system: x}
		}
	}()
	for _, condition := range x.when {
		if !condition(w) {
			return false, nil
		}
	}
	return true, nil
}

// settle draws the sums of a tick that is over, and joins its panics: those of
// conditions, then by shard and in order of the systems, then those of global
// systems, then that of the balancer, then those of functions and those of hooks in
// the refresh, by shard.
func (s *Scheduler) settle(ctx context.Context, early []*SystemError) error {
	t := &s.tick
	t.observer.end(ctx)
	t.settle()
	s.counts.Ticks++
	panics := early
	for i := range t.programs {
		p := &t.programs[i]
		panics = append(panics, p.errs...)
		p.errs = nil
	}
	if s.balancing.err != nil {
		panics = append(panics, s.balancing.err)
		s.balancing.err = nil
	}
	calls, hooks := t.world.Failures(), t.world.Broken()
	if len(panics)+len(calls)+len(hooks) == 0 {
		return nil
	}
	all := make([]error, 0, len(panics)+len(calls)+len(hooks))
	for _, e := range panics {
		all = append(all, e)
		s.punish(e)
	}
	for _, e := range calls {
		all = append(all, e)
		s.tell(e)
	}
	for _, e := range hooks {
		all = append(all, e)
		s.punishHook(e)
	}
	return errors.Join(all...)
}

// tell counts and logs a panic of a function.
func (s *Scheduler) tell(e *world.CallError) {
	s.counts.Panics++
	if l := s.options.Logger; l != nil {
		l.Error("function panicked", "function", e.Function, "on", e.On, "shard", e.Shard, "tick", e.Tick, "panic", e.Value, "stack", string(e.Stack))
	}
}

// punishHook does what the policy says with a hook that panicked.
func (s *Scheduler) punishHook(e *world.HookError) {
	s.counts.Panics++
	switch s.options.IfPanics {
	case DisableSystem:
		e.Hook.SetEnabled(false)
	case DisableOnShard:
		e.Hook.DisableOn(e.Shard)
	}
	if l := s.options.Logger; l != nil {
		l.Error("hook panicked", "hook", e.Hook.Name(), "on", e.On, "shard", e.Shard, "tick", e.Tick, "policy", s.options.IfPanics, "panic", e.Value, "stack", string(e.Stack))
	}
}

// punish does what the policy of a system that panicked says.
func (s *Scheduler) punish(e *SystemError) {
	s.counts.Panics++
	x := e.system
	switch {
	case x.policy == DisableSystem, x.policy == DisableOnShard && e.Shard == world.Everywhere:
		x.enabled.Store(false)
	}
	if l := s.options.Logger; l != nil {
		l.Error("system panicked", "system", e.System, "shard", e.Shard, "tick", e.Tick, "policy", x.policy, "panic", e.Value, "stack", string(e.Stack))
	}
}
