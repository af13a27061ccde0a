package scheduler

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/atoll-sim/atoll/world"
)

// Options shape a scheduler. The zero value means the defaults.
type Options struct {
	// Workers is the number of goroutines that run systems, the one that calls
	// Step included. Default: GOMAXPROCS. More than there are shards are of no
	// use and not started.
	Workers int
	// OnTick, if not nil, is called after every tick that Run makes, on Run's
	// goroutine, while the world is idle: it may use the World. Its time is not
	// in the Report, but the next tick waits for it.
	OnTick func(Report)
}

// Report tells of one tick.
type Report struct {
	Tick     uint64        // number of the tick, from 0
	Duration time.Duration // systems and refresh
	Late     time.Duration // how long after its time it began
	Overrun  bool          // it took longer than the tick interval
	Skipped  uint64        // ticks given up so far, because Run was too far behind
}

// catchUpMax is how many ticks Run may be behind before it gives them up.
const catchUpMax = 5

// Scheduler runs systems over a world.
//
// Ownership: one goroutine adds systems and calls Step or Run; between those
// calls it may use the world.
type Scheduler struct {
	w       *world.World
	options Options
	systems []*system
	tick    tick
	workers []func()
	planned bool
}

// New makes a scheduler for a world. A world has one scheduler at a time. It
// panics if a limit in the options is broken.
func New(w *world.World, o Options) *Scheduler {
	if o.Workers < 0 {
		panic(fmt.Sprintf("scheduler: Workers is %d, want 1 or more, or 0 for GOMAXPROCS", o.Workers))
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	o.Workers = min(o.Workers, w.Shards())
	s := &Scheduler{w: w, options: o}
	t := &s.tick
	t.gate.init()
	t.programs = make([]program, w.Shards())
	for i := range t.programs {
		t.programs[i].shard = i
	}
	for i := 1; i < o.Workers; i++ {
		first := i * w.Shards() / o.Workers
		s.workers = append(s.workers, t.worker(first))
	}
	return s
}

// Workers returns the number of goroutines that run systems.
func (s *Scheduler) Workers() int { return s.options.Workers }

// Add appends a system, running its constructor once for every shard. The name
// must not be taken. It returns an error if the system asks for access that
// cannot be granted; then nothing is added.
func (s *Scheduler) Add(name string, construct System) error {
	if name == "" || construct == nil {
		return fmt.Errorf("scheduler: system %q needs a name and a constructor", name)
	}
	for _, x := range s.systems {
		if x.name == name {
			return fmt.Errorf("scheduler: system name %q is taken", name)
		}
	}
	x, err := build(s.w, name, construct)
	if err != nil {
		return err
	}
	s.systems = append(s.systems, x)
	s.planned = false
	return nil
}

// MustAdd is Add for systems that are known to be good; it panics on an error.
// It returns the scheduler, so that calls can be chained.
func (s *Scheduler) MustAdd(name string, construct System) *Scheduler {
	if err := s.Add(name, construct); err != nil {
		panic(err)
	}
	return s
}

// Step runs one tick: all systems on all shards, then the refresh. It returns
// the context's error, without running, if the context has ended. A system that
// panics does not stop the tick; the error joins a *SystemError for each, and a
// *world.CallError for each function that panicked in the refresh. One that
// calls runtime.Goexit, as a failing test does, does not stop it either. No
// goroutine is left behind. Steady state allocates nothing.
func (s *Scheduler) Step(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.step()
}

func (s *Scheduler) step() error {
	t := &s.tick
	if !s.planned {
		s.planned = true
		plan(s.systems)
		t.systems = s.systems
		t.passed = make([]countdown, len(s.systems))
	}
	t.world = s.w.BeginTick()
	t.start()
	t.workers.Add(len(s.workers))
	for _, w := range s.workers {
		go w()
	}
	ended := false
	defer func() {
		if r := recover(); r != nil {
			t.finish()
			panic(r)
		}
		if !ended { // a system has ended this goroutine; the tick is completed all the same
			t.workers.Add(1)
			go t.worker(0)()
			t.awaitSystems()
			t.world.End(t.parallel)
		}
		t.finish()
	}()
	t.runSystems(0)
	t.world.End(t.parallel)
	ended = true
	return t.failure()
}

// failure joins the panics of the tick, by shard, then in order of the systems;
// then those of functions in the refresh.
func (t *tick) failure() error {
	var all []error
	for i := range t.programs {
		p := &t.programs[i]
		for _, e := range p.errs {
			all = append(all, e)
		}
		p.errs = nil
	}
	all = append(all, t.world.Failure())
	return errors.Join(all...)
}

// Run makes ticks at the world's TickInterval until the context ends, and then
// returns nil. A tick that takes too long makes the next ones follow at once;
// when more than a few are due they are given up. Run returns the error of a
// tick in which a system panicked, after completing that tick.
func (s *Scheduler) Run(ctx context.Context) error {
	interval := s.w.Options().TickInterval
	timer := time.NewTimer(0)
	defer timer.Stop()
	due := time.Now()
	r := Report{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		if ctx.Err() != nil {
			return nil
		}
		began := time.Now()
		r.Tick, r.Late = s.w.Tick(), began.Sub(due)
		if err := s.step(); err != nil {
			return err
		}
		r.Duration = time.Since(began)
		r.Overrun = r.Duration > interval
		if s.options.OnTick != nil {
			s.options.OnTick(r)
		}
		due = due.Add(interval)
		if behind := time.Since(due); behind > catchUpMax*interval {
			r.Skipped += uint64(behind / interval)
			due = due.Add(behind / interval * interval)
		}
		timer.Reset(max(0, time.Until(due)))
	}
}

// Systems returns the names of the systems in the order in which they run.
func (s *Scheduler) Systems() []string {
	names := make([]string, len(s.systems))
	for i, x := range s.systems {
		names[i] = x.name
	}
	return names
}
