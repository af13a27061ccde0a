package scheduler

import (
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/driver"
	"github.com/atoll-sim/atoll/world"
)

// Balancer decides which shards hand entities over to which others. Level makes the
// built-in one. To replay a run in which the Balancer decided by cost, use one that plays the
// recorded decisions back.
type Balancer interface {
	// Balance appends its decisions for a tick to dst and returns it. The goroutine in Step calls
	// it once in each tick, when all systems have run and before the refresh, which carries the
	// decisions out. loads is by shard; it must not be kept. For a run to give the same world as
	// another, Balance must decide only by what is the same in both, such as the tick and the
	// numbers of entities. A Balancer with a state that affects its later decisions should append
	// that state in a method AppendState, like Scheduler.AppendState, so that a hash of the state
	// includes it.
	Balance(tick uint64, loads []Load, dst []Transfer) []Transfer
}

// Transfer is a decision to move a number of entities from one shard to another, without naming
// them. The last rows of From's tables move, from each table in proportion to its rows, so that
// From keeps its mixture; which ones depends on the world alone. They move at the refresh, when
// all requests are done. Entities that are marked, that a request moves already, or that have a
// pinned component stay; see world.World.Pin. If From has too few others, fewer move. Outcomes
// and counts of requests do not show it, but world.Stats.Moved does.
type Transfer struct {
	From, To, Entities int
}

// Load is how much work a shard has.
type Load struct {
	Entities int // now, marked ones included, without what ports requested
	// Cost is the moving average, over some ticks before this one, of the time that the
	// shard's systems took. It is measured, so it differs from run to run.
	Cost time.Duration
}

// balancing is what the scheduler does for its Balancer.
//
// Ownership: the coordinator.
type balancing struct {
	by     Balancer // nil: no entities are shifted
	system *system  // the system that its panics are counted for
	loads  []Load
	shifts []Transfer       // of the last tick
	passed []drive.Transfer // the same, in the form that the world takes
	err    *world.PanicError
}

func (b *balancing) init(o *Options, shards int) {
	b.by = o.Balancer
	b.system = &system{name: "balancer", options: options{policy: o.IfPanics}}
	b.system.enabled.Store(true)
	b.loads = make([]Load, shards)
}

// Shifts returns what the Balancer decided in the last tick, for example for a log of inputs. It is
// for the goroutine that owns the scheduler, between ticks; the slice is good until the next one.
func (s *Scheduler) Shifts() []Transfer {
	s.mustRest("Shifts")
	return s.balancing.shifts
}

// balance asks the Balancer, and passes its decisions to the world. All systems have run.
func (s *Scheduler) balance(w driver.Tick) {
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
	for i := range b.loads {
		b.loads[i] = Load{Entities: w.Entities(i), Cost: s.tick.scale.Duration(s.tick.programs[i].cost)}
	}
	b.shifts = b.by.Balance(w.Number(), b.loads, b.shifts)
	b.passed = b.passed[:0]
	for _, x := range b.shifts {
		b.passed = append(b.passed, drive.Transfer(x))
	}
	w.Transfer(b.passed)
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
