package scheduler

import (
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/atoll-sim/atoll/world"
)

// Balancer decides which shards hand entities over to which others. Level makes the
// built-in one; one that plays recorded decisions back makes a replay of a run whose
// own balancer went by cost.
type Balancer interface {
	// Balance appends its decisions for a tick to dst and returns it. It is called
	// once in each tick by the goroutine in Step, when all systems have run and
	// before the refresh, which carries the decisions out. loads is by shard; it
	// must not be kept. Whatever it decides by, other than the tick and the numbers
	// of entities, must be the same in every run if the world is to be. One that
	// remembers what decides what it does next should tell that in a method
	// AppendState, as Scheduler.AppendState has, so that a hash of the state sees it.
	Balance(tick uint64, loads []Load, dst []world.Transfer) []world.Transfer
}

// Load is what a shard has to do.
type Load struct {
	Entities int // now, marked ones included, without what ports requested
	// Cost is the moving average, over some ticks before this one, of what the
	// shard's systems took. It is measured, so it is never the same twice.
	Cost time.Duration
}

// balancing is what the scheduler does for its Balancer.
//
// Ownership: the coordinator.
type balancing struct {
	by     Balancer // nil: nobody is shifted
	system *system  // which it counts as, should it panic
	loads  []Load
	shifts []world.Transfer // of the last tick
	err    *SystemError
}

func (b *balancing) init(o *Options, shards int) {
	b.by = o.Balancer
	b.system = &system{name: "balancer", options: options{policy: o.IfPanics}}
	b.system.enabled.Store(true)
	b.loads = make([]Load, shards)
}

// Shifts returns what the Balancer decided in the last tick, for a log of inputs,
// say. It is for the goroutine that owns the scheduler, between ticks; the slice is
// good until the next one.
func (s *Scheduler) Shifts() []world.Transfer {
	s.mustRest("Shifts")
	return s.balancing.shifts
}

// balance asks the Balancer, and decides what it says. All systems have run.
func (s *Scheduler) balance(w world.Tick) {
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
		v := recover()
		if !returned {
			b.shifts = b.shifts[:0]
			if v == nil {
				v = errGoexit
			}
		}
		if v != nil { // of the Logger, if it returned
			b.err = &SystemError{System: b.system.name, Shard: world.AllShards, Tick: w.Number(), Value: v, Stack: debug.Stack(), system: b.system}
		}
	}()
	for i := range b.loads {
		b.loads[i] = Load{Entities: w.Entities(i), Cost: s.tick.scale.Duration(s.tick.programs[i].cost)}
	}
	b.shifts = b.by.Balance(w.Number(), b.loads, b.shifts)
	w.Transfer(b.shifts)
	returned = true
	if len(b.shifts) == 0 {
		return
	}
	n := 0
	for _, x := range b.shifts {
		n += x.Entities
	}
	s.counts.Shifts += uint64(len(b.shifts))
	s.counts.Shifted += uint64(n)
	if s.options.Logger != nil { // its values would be garbage
		s.log(slog.LevelInfo, "entities shifted", "tick", w.Number(), "entities", n, "shifts", len(b.shifts))
	}
}
