package scheduler

import (
	"context"
	"log/slog"
	"time"

	"github.com/atoll-sim/atoll/internal/aside"
)

// Report describes one tick. For a tick of Step, Late, Overruns, Skipped and Slipped are 0.
type Report struct {
	Tick     uint64        // number of the tick, from 0
	Duration time.Duration // as in Stats.Time
	Between  time.Duration // how much of that came before the tick itself, as in Stats.Between
	Late     time.Duration // how long after it was due the tick began
	Overrun  bool          // it took longer than the budget
	Overruns uint64        // how many ticks of this Run took longer so far
	Skipped  uint64        // ticks given up so far, because Run was too far behind
	Slipped  time.Duration // for how long SlowClock put later ticks off so far
	Rung     int           // how many rungs of Options.Ladder were in force
}

// Run makes ticks at the world's TickInterval until the context ends or Stop is
// called, and then returns nil, after the tick that is under way. The Overrun policy says
// what it does when a tick takes too long. If a system with the policy StopRun panics in a
// tick, Run completes that tick and returns its error. It does the same for a function or hook
// if Options.IfPanics is StopRun. Goroutines of workers end as those of Step do.
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
	defer func() { s.log(slog.LevelInfo, "run ends", "tick", s.w.Tick(), "err", err) }()
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
			r.Duration, r.Between = took, s.before
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
		return s.skip(due, behind/interval, interval)
	case Skip:
		if behind <= 0 {
			return due
		}
		return s.skip(due, behind/interval+1, interval)
	default:
		if behind <= 0 {
			return due
		}
		s.counts.Slipped += behind
		return due.Add(behind)
	}
}

// skip gives up n ticks.
func (s *Scheduler) skip(due time.Time, n, interval time.Duration) time.Time {
	s.counts.Skipped += uint64(n)
	s.log(slog.LevelWarn, "ticks given up", "tick", s.w.Tick(), "ticks", int(n))
	return due.Add(n * interval)
}

// report completes the Report of a tick of Run, and logs and delivers it. before has the counts
// from before Run began.
func (s *Scheduler) report(r *Report, before Stats) {
	_, budget := s.inForce()
	if r.Overrun = r.Duration > budget; r.Overrun {
		s.counts.Overruns++
		s.log(slog.LevelWarn, "tick took too long", "tick", r.Tick, "took", r.Duration, "between ticks", r.Between, "budget", budget)
	}
	r.Overruns = s.counts.Overruns - before.Overruns
	r.Skipped = s.counts.Skipped - before.Skipped
	r.Slipped = s.counts.Slipped - before.Slipped
	if s.options.OnTick != nil {
		s.onTick(*r)
	}
}

// log writes to the Logger, if there is one.
func (s *Scheduler) log(level slog.Level, what string, values ...any) {
	aside.Log(s.options.Logger, level, what, values...)
}

// notifyStuck reports a system that does not return. The watchdog calls it. It returns the panic of
// Notify.
func (s *Scheduler) notifyStuck(x Stuck) error {
	s.log(slog.LevelWarn, "system does not return", "system", x.System, "shard", x.Shard, "tick", x.Tick, "for", x.For, "stack", x.Stack)
	if s.options.Watchdog.Notify == nil {
		return nil
	}
	return aside.Do(inWatchdog, func() error {
		s.options.Watchdog.Notify(x)
		return nil
	})
}
