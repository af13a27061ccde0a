package scheduler

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// System is the constructor of a system. It runs once per shard, asks the Build for the access
// that the system needs, and returns the function to run each tick. The
// constructor's local variables are the system's state in that shard. It must
// ask for the same on every shard. For a global system it runs once.
type System func(b *world.Build) func(c *world.Context)

// system is a System that was added, or the merge of an accumulator.
//
// Ownership: the scheduler's goroutine between ticks. Any goroutine may use enabled and reenabled,
// which takeSwitches reads. A shard's element of off belongs to the worker that runs the shard.
type system struct {
	name  string     // it and what follows is used in each tick: with many systems, reading it is most of an idle tick
	times []ofWorker // of its runs, by worker
	options
	waited    int64                  // how long shards stood before it, in ticks of the clock
	on        bool                   // enabled, as the running tick sees it
	restarts  bool                   // the next tick clears off
	enabled   atomic.Bool            // what Enable or Disable asked for last
	reenabled atomic.Bool            // it is to run on all shards again
	merges    bool                   // the scheduler added it: it merges an accumulator
	run       []func(*world.Context) // by shard; of a global system one
	access    []*extend.Access       // likewise
	off       []bool                 // likewise: it panicked there, and no longer runs there
	follows   []*system              // those that must come after it
}

// build runs a constructor for every shard.
func build(w *world.World, name string, construct System, o options) (*system, error) {
	s := newSystem(w, name, o)
	for i := range s.run {
		shard := i
		if s.global {
			shard = world.AllShards
		}
		s.run[i], s.access[i] = constructOn(w, shard, name, construct)
		s.access[i].Delta *= float64(s.every)
		s.access[i].Every = uint64(s.every)
		switch {
		case s.run[i] == nil && s.global:
			return nil, fmt.Errorf("scheduler: the constructor of system %q returned nil; return a function", name)
		case s.run[i] == nil:
			return nil, fmt.Errorf("scheduler: the constructor of system %q returned nil for shard %d; return a function", name, i)
		case !s.access[i].Same(s.access[0]):
			return nil, fmt.Errorf("scheduler: system %q asks for other access on shard %d than on shard 0; ask for the same on every shard", name, i)
		}
	}
	a := s.access[0]
	if both := a.Foreign.Union(a.Neighbour).Common(a.Writes); both.Len() > 0 && !s.global {
		return nil, fmt.Errorf("scheduler: system %q writes or creates %s and reads it in other shards; split it into two systems",
			name, engine.Of(w).ComponentNames(both))
	}
	return s, nil
}

// constructOn runs a constructor for a shard. If that panics, it panics with the system's name
// before the value.
func constructOn(w *world.World, shard int, name string, construct System) (func(*world.Context), *extend.Access) {
	d := engine.Of(w)
	b := d.NewBuild(shard, name)
	defer func() {
		switch v := recover().(type) {
		case nil:
		case error:
			panic(fmt.Errorf("scheduler: the constructor of system %q panicked%s: %w", name, onShard(shard), v))
		default:
			panic(fmt.Sprintf("scheduler: the constructor of system %q panicked%s: %v", name, onShard(shard), v))
		}
	}()
	run := construct((*world.Build)(b))
	return run, b.Finish()
}

// onShard returns the text about a shard in messages, or nothing for a global system.
func onShard(shard int) string {
	if shard == world.AllShards {
		return ""
	}
	return fmt.Sprintf(" on shard %d", shard)
}

func newSystem(w *world.World, name string, o options) *system {
	n := w.Shards()
	if o.global {
		n = 1
	}
	s := &system{options: o, name: name, run: make([]func(*world.Context), n), access: make([]*extend.Access, n), off: make([]bool, n)}
	s.enabled.Store(!o.disabled)
	s.on = !o.disabled
	return s
}

// newMerge makes the system that merges an accumulator. after is the last system that adds to
// it.
func newMerge(w *world.World, resource int, after *system) *system {
	d := engine.Of(w)
	s := newSystem(w, fmt.Sprintf("merge %q", d.ResourceName(resource)), options{global: true, stage: after.stage, every: 1})
	s.merges = true
	s.access[0] = &extend.Access{}
	s.access[0].ResourceWrites.Add(resource)
	s.run[0] = func(*world.Context) { d.MergeResource(resource) }
	return s
}

// due reports whether a system that is enabled runs in a tick.
func (s *system) due(tick uint64) bool { return tick%uint64(s.every) == uint64(s.offset) }

// holds calls the system's conditions.
func (s *system) holds(w *world.World) (all bool, err *world.PanicError) {
	defer func() {
		if v := recover(); v != nil {
			all = false
			err = &world.PanicError{In: inCondition, Name: s.name, Shard: world.AllShards, Tick: w.Tick(), Value: v, Stack: debug.Stack()}
		}
	}()
	for _, condition := range s.when {
		if !condition(w) {
			return false, nil
		}
	}
	return true, nil
}

// failure is the panic of a system, of a condition or of the Balancer, with the system whose policy
// applies.
type failure struct {
	*world.PanicError
	system *system
}

// The values of world.PanicError.In that a scheduler sets.
const (
	inSystem    = "system"
	inCondition = "condition of system"
	inBalancer  = "balancer"
	inBetween   = "function between ticks"
	inWatchdog  = "Watchdog.Notify"
)
