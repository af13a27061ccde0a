package scheduler

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// Balancer decides which shards hand entities over to which others. Level makes the
// built-in one. To replay a run in which the Balancer decided by cost, use one that plays the
// recorded decisions back.
type Balancer interface {
	// Balance appends its decisions for a tick to dst and returns it. The goroutine in Step calls
	// it once in each tick, before the systems run. The refresh of that tick carries the decisions
	// out. costs is by shard; it must not be kept. For a run to give the same world as
	// another, Balance must decide only by what is the same in both, such as the tick and the
	// numbers of entities. A Balancer with a state that affects its later decisions should append
	// that state in a method AppendState, like Scheduler.AppendState, so that a hash of the state
	// includes it.
	Balance(tick uint64, costs []ShardCost, dst []Shift) []Shift
}

// Shift is a decision to move a number of entities from one shard to another, without naming
// them. The last rows of From's tables move, from each table in proportion to its rows, so that
// From keeps its mixture; which ones depends on the world alone. They move at the refresh, when
// all requests are done. Entities that are dying, that a request moves already, or that have a
// pinned component stay; see world.World.Pin. If From has too few others by then, fewer move.
// Outcomes and counts of requests do not show it, but world.Stats.Moved does.
type Shift struct {
	From, To, Entities int
}

// ShardCost is what a shard has to do.
type ShardCost struct {
	Entities int // now, dying ones included, without what ports requested
	// Cost is the moving average, over some ticks before this one, of the time that the
	// shard's systems took. It is measured, so it differs from run to run.
	Time time.Duration
}

// balancing is what the scheduler does for its Balancer.
//
// Ownership: the coordinator.
type balancing struct {
	by     Balancer // nil: no entities are shifted
	system *system  // the system that its panics are counted for
	costs  []ShardCost
	shifts []Shift        // of the last tick
	passed []extend.Shift // the same, in the form that the world takes
	err    *world.PanicError
}

func (b *balancing) init(o *Options, shards int) {
	b.by = o.Balancer
	b.system = &system{name: "balancer", options: options{policy: o.IfPanics}}
	b.system.enabled.Store(true)
	b.costs = make([]ShardCost, shards)
}

// load gives the Balancer the state that AppendState wrote.
func (b *balancing) load(src []byte) error {
	if len(src) == 0 || b.by == nil {
		return nil
	}
	by, loads := b.by.(interface{ LoadState(src []byte) error })
	_, keeps := b.by.(interface{ AppendState(dst []byte) []byte })
	if !loads && keeps {
		return fmt.Errorf("scheduler: the Balancer, a %T, has a state and no LoadState", b.by)
	}
	if loads && len(src) > 1 { // a world that is loaded into another number of shards leaves the rest out
		if err := by.LoadState(src[1:]); err != nil {
			return err
		}
	}
	b.system.enabled.Store(src[0] == 1)
	return nil
}

// LevelOptions shape a Balancer made by Level. The zero value means the defaults.
type LevelOptions struct {
	// A shard begins to hand entities over when its load exceeds Above times the mean, and stops
	// when it comes down to Until times the mean. So a load that varies between the two moves no
	// entities. Defaults: 1.25 and 1.05.
	Above, Until float64
	// Limit is the highest number of entities that are moved in a tick, over all shards.
	// Default: 4096.
	Limit int
	// Least is how many entities above the mean a shard must have before it hands any over.
	// Default: 128. A small world fills one shard after the other, so Level spreads it, too.
	Least int
	// Every makes the Balancer decide only in ticks whose number is a multiple of Every.
	// Default: 1.
	Every int
}

// The defaults of LevelOptions.
const (
	DefaultLevelAbove = 1.25
	DefaultLevelUntil = 1.05
	DefaultLevelLimit = 4096
	DefaultLevelLeast = 128
)

// validate fills in the defaults. It panics if a limit is broken.
func (l LevelOptions) validate() LevelOptions {
	must := func(ok bool, format string, values ...any) {
		if !ok {
			panic("scheduler: Level: " + fmt.Sprintf(format, values...))
		}
	}
	if l.Above == 0 {
		l.Above = DefaultLevelAbove
	}
	if l.Until == 0 {
		l.Until = min(DefaultLevelUntil, l.Above)
	}
	must(l.Above >= 1 && !math.IsInf(l.Above, 1), "Above is %v, want 1 or more, or 0 for %v", l.Above, DefaultLevelAbove)
	must(l.Until >= 1 && l.Until <= l.Above, "Until is %v, want 1 to %v, which is Above, or 0 for %v", l.Until, l.Above, DefaultLevelUntil)
	must(l.Limit >= 0, "Limit is %d, want 1 or more, or 0 for %d", l.Limit, DefaultLevelLimit)
	must(l.Least >= 0, "Least is %d, want 1 or more, or 0 for %d", l.Least, DefaultLevelLeast)
	must(l.Every >= 0, "Every is %d, want 1 or more, or 0 for 1", l.Every)
	if l.Limit == 0 {
		l.Limit = DefaultLevelLimit
	}
	if l.Least == 0 {
		l.Least = DefaultLevelLeast
	}
	l.Every = max(l.Every, 1)
	return l
}

// Level makes a Balancer that moves entities from shards with a load far above the mean to
// shards below it, until each has the mean. It begins with the highest and the lowest load. It
// looks at each shard in each tick, and does more only while entities are to be moved. A
// Balancer serves one scheduler. Level panics if a limit in the options is broken.
//
// It moves single entities, so a parent and its children in a hierarchy may come into different
// shards. If systems look up one from the other by Read or Write, keep both kinds in their shards
// by World.Pin.
func Level(o LevelOptions) Balancer {
	return &leveler{
		o:       o.validate(),
		descend: func(a, b shardLoad) int { return cmp.Or(cmp.Compare(b.load, a.load), a.shard-b.shard) },
		ascend:  func(a, b shardLoad) int { return cmp.Or(cmp.Compare(a.load, b.load), a.shard-b.shard) },
	}
}

// leveler is the Balancer that Level makes.
//
// Invariants: giving[i] says that shard i has begun to hand entities over and has not ended.
//
// Ownership: the goroutine in Step.
type leveler struct {
	o         LevelOptions
	giving    []bool
	donors    []shardLoad
	receivers []shardLoad
	descend   func(a, b shardLoad) int
	ascend    func(a, b shardLoad) int
}

// Balance has the shards that are too far above the mean give entities to shards below it, every
// LevelOptions.Every ticks.
func (l *leveler) Balance(tick uint64, costs []ShardCost, dst []Shift) []Shift {
	if tick%uint64(l.o.Every) != 0 {
		return dst
	}
	for len(l.giving) < len(costs) {
		l.giving = append(l.giving, false)
	}
	mean := 0.0
	for _, x := range costs {
		mean += float64(x.Entities)
	}
	mean /= float64(len(costs))
	l.donors = l.donors[:0]
	for i, x := range costs {
		p := shardLoad{i, float64(x.Entities)}
		switch {
		case p.load <= l.o.Until*mean:
			l.giving[i] = false
		case p.load > l.o.Above*mean && p.above(mean) >= l.o.Least:
			l.giving[i] = true
		}
		if l.giving[i] {
			l.donors = append(l.donors, p)
		}
	}
	if len(l.donors) == 0 {
		return dst
	}
	l.receivers = l.receivers[:0]
	for i, x := range costs {
		if p := (shardLoad{i, float64(x.Entities)}); p.load < mean {
			l.receivers = append(l.receivers, p)
		}
	}
	return l.level(mean, dst)
}

// level decides the shifts from donors to receivers, until one of the two is at the mean or the
// limit is reached.
func (l *leveler) level(mean float64, dst []Shift) []Shift {
	slices.SortFunc(l.donors, l.descend)
	slices.SortFunc(l.receivers, l.ascend)
	left, at := l.o.Limit, 0
	for _, g := range l.donors {
		give := min(left, g.above(mean))
		for give > 0 && at < len(l.receivers) {
			t := &l.receivers[at]
			n := min(give, int(mean-t.load))
			if n < 1 {
				at++
				continue
			}
			dst = append(dst, Shift{From: g.shard, To: t.shard, Entities: n})
			t.load += float64(n)
			give, left = give-n, left-n
		}
	}
	return dst
}

// shardLoad is a shard that gives or takes.
type shardLoad struct {
	shard int
	load  float64 // entities
}

// above returns how many entities above the mean the shard has.
func (s shardLoad) above(mean float64) int { return int(s.load - mean) }

// AppendState appends which shards are giving, for Scheduler.AppendState.
func (l *leveler) AppendState(dst []byte) []byte {
	for _, giving := range l.giving {
		dst = append(dst, bit(giving))
	}
	return dst
}

// LoadState loads which shards are giving, for Scheduler.LoadState.
func (l *leveler) LoadState(src []byte) error {
	l.giving = l.giving[:0]
	for _, giving := range src {
		l.giving = append(l.giving, giving == 1)
	}
	return nil
}

func bit(is bool) byte {
	if is {
		return 1
	}
	return 0
}
