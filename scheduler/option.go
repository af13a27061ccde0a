package scheduler

import (
	"fmt"

	"github.com/atoll-sim/atoll/world"
)

// Stage is a part of the tick. All systems of a stage come before those of the
// next. A shard waits between stages only where systems touch the same data.
type Stage int

// The stages of a tick, in order.
const (
	PreUpdate Stage = iota - 1
	Update          // where systems are unless In says otherwise
	PostUpdate
)

// String returns the stage's name.
func (s Stage) String() string {
	return named("Stage", s, PreUpdate, "PreUpdate", "Update", "PostUpdate")
}

// named returns the name of a value of a type, or its number if there is none. names begin with the
// name of first.
func named[T ~int](of string, value, first T, names ...string) string {
	if i := int(value - first); i >= 0 && i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", of, int(value))
}

// Option sets something of a system that is added.
type Option func(*options)

// In puts the system in a stage. The default is Update.
func In(s Stage) Option { return func(o *options) { o.stage = s } }

// Before makes the system run before those named. They may be added later, but not in an earlier
// stage.
func Before(systems ...string) Option {
	return func(o *options) { o.before = append(o.before, systems...) }
}

// After makes the system run after those named. They may be added later, but not in a later stage.
// Without Before and After systems run in the order in which they were added.
func After(systems ...string) Option {
	return func(o *options) { o.after = append(o.after, systems...) }
}

// Every makes the system run in each tick whose number, divided by n, leaves the remainder offset.
// offset must be below n. Its Context.Delta is the time of n ticks.
func Every(n, offset int) Option {
	return func(o *options) { o.every, o.offset = n, offset }
}

// When makes the system run only in ticks for which the condition holds. With several conditions,
// all must hold. They are called when the tick begins, on an idle world. A condition may read
// everything and must change nothing. It should depend only on the world, so that the same inputs
// give the same world. A panic in a condition counts as a panic of the system.
func When(condition func(w *world.World) bool) Option {
	return func(o *options) { o.when = append(o.when, condition) }
}

// Global makes the system run once per tick and not once per shard. Its access is to the
// whole world: its accessors and queries see the entities of all shards, it creates where an
// idle world would, and it destroys at once. It runs when every shard has passed the systems
// before it, and the systems after it wait for it.
//
// A global system that asks only for resources and foreign reads waits less: only for systems that
// touch the same data, and only those wait for it. It does everything else by request. Messages go
// to shards, so no global system receives any.
func Global() Option { return func(o *options) { o.global = true } }

// Disabled adds the system disabled; see Scheduler.Enable.
func Disabled() Option { return func(o *options) { o.disabled = true } }

// Optional says that the simulation can do without the system for a while: it does not run in ticks
// for which SkipOptional of the ladder is in force. See Options.Ladder.
func Optional() Option { return func(o *options) { o.optional = true } }

// IfPanics sets what happens to the system when it panics. The default is the
// scheduler's Options.IfPanics.
func IfPanics(p PanicPolicy) Option { return func(o *options) { o.policy = p } }

// options holds what the Options of a system set.
type options struct {
	every, offset int
	when          []func(*world.World) bool
	optional      bool
	global        bool
	disabled      bool
	policy        PanicPolicy
	stage         Stage
	before, after []string
}

func optionsOf(all []Option) options {
	o := options{every: 1, policy: byDefault}
	for _, option := range all {
		if option == nil {
			panic("scheduler: a nil Option for a system; leave it out")
		}
		option(&o)
	}
	return o
}

// check returns an error that names what is wrong with the options.
func (o *options) check(name string) error {
	switch {
	case o.stage < PreUpdate || o.stage > PostUpdate:
		return fmt.Errorf("scheduler: system %q is in %v, want PreUpdate, Update or PostUpdate", name, o.stage)
	case o.every < 1 || o.offset < 0 || o.offset >= o.every:
		return fmt.Errorf("scheduler: system %q runs every %d ticks from tick %d on, want every 1 or more, and an offset from 0 to below that", name, o.every, o.offset)
	case o.policy < byDefault || o.policy > DisableOnShard:
		return fmt.Errorf("scheduler: system %q has panic policy %d, want StopRun, DisableSystem or DisableOnShard", name, o.policy)
	}
	for _, f := range o.when {
		if f == nil {
			return fmt.Errorf("scheduler: system %q runs When a nil function says so", name)
		}
	}
	return nil
}

// PanicPolicy says what happens to a system that panicked. Under every policy, all other
// systems and shards complete the tick, and what the system had
// written and created until then stays, including half-written rows.
type PanicPolicy int

// The policies.
const (
	byDefault PanicPolicy = iota - 1
	// StopRun makes Run return the error after the tick. The system stays enabled.
	StopRun
	// DisableSystem makes the system not run from the next tick on, on any shard.
	DisableSystem
	// DisableOnShard makes the system no longer run on the shards on which it
	// panicked.
	DisableOnShard
)

// String returns the policy's name.
func (p PanicPolicy) String() string {
	return named("PanicPolicy", p, StopRun, "StopRun", "DisableSystem", "DisableOnShard")
}

// OverrunPolicy is what Run does when ticks took too long and it is behind.
type OverrunPolicy int

// The policies.
const (
	// CatchUp makes the ticks that are due follow at once while Run is at most CatchUpMax
	// ticks behind. When it is further behind, it gives up all of them but the last.
	CatchUp OverrunPolicy = iota
	// Skip gives up all ticks that are due. The next one is made at its time.
	Skip
	// SlowClock gives nothing up: the next tick follows at once, and all later
	// ones come that much later.
	SlowClock
)

// String returns the policy's name.
func (o OverrunPolicy) String() string {
	return named("OverrunPolicy", o, CatchUp, "CatchUp", "Skip", "SlowClock")
}
