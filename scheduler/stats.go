package scheduler

import (
	"slices"
	"time"

	"github.com/atoll-sim/atoll/internal/clock"
	"github.com/atoll-sim/atoll/world"
	"github.com/atoll-sim/atoll/world/stats"
)

// Stats are what was counted and measured since the scheduler was made. Times
// are wall time, including what the operating system takes away, and exact to some
// tens of nanoseconds: the time of a step ends where that of the next one begins.
type Stats struct {
	Ticks    uint64
	Panics   uint64
	Overruns uint64        // ticks of Run that took longer than the budget
	Skipped  uint64        // ticks that Run gave up
	Slipped  time.Duration // for how long in all SlowClock put later ticks off; what a rung with Slow adds is not in it
	Shifts   uint64        // decisions of the Balancer
	Shifted  uint64        // entities that these decisions were to move; world.Stats.Moved counts all that moved
	Rung     int           // how many rungs of Options.Ladder are in force
	Interval time.Duration // from one tick of Run to the next: the TickInterval, made longer by the rungs with Slow that are in force
	Budget   time.Duration // that a tick may take: Options.Budget, made longer likewise
	Climbed  uint64        // how often Rung went up or down by one
	Climbs   []Climb       // the last ClimbsMax of these changes, the oldest first
	// Time is how long ticks took: systems, Balancer and refresh, and what the goroutine of Run or
	// Step did since the tick before, which is in Between, too. It is the time that Budget is for.
	Time stats.Histogram
	// Between is how long the goroutine of Run or Step worked before each tick, since the last one:
	// in OnTick, in handlers of outputs, in functions of Scheduler.Between, on captures of the idle world for a log of
	// inputs, on a schedule for systems that were added. What it does while Run is paused does not
	// count.
	Between stats.Histogram
	// Commit is how long ticks waited, after their systems, until the log had what the refresh
	// applies. It is empty if ticks are not sealed. Time is without it, so it counts neither for
	// the budget nor for the ladder.
	Commit  stats.Histogram
	Systems []SystemStats // in the order in which they run, merges included
	Shards  []ShardTimes  // by shard, without the global systems
	Waits   []Wait        // which shards waited at fences for which, by Shard, then For; none with more than WaitShardsMax shards
}

// SystemStats are the Stats of one system.
type SystemStats struct {
	Name    string
	Global  bool
	Enabled bool
	Runs    uint64          // over all shards
	Panics  uint64          // likewise
	Total   time.Duration   // likewise
	Max     time.Duration   // the longest run on a shard
	Waited  time.Duration   // how long shards waited before it at fences
	Time    stats.Histogram // of each run on a shard
}

// ShardTimes are the times of a shard, over all systems.
type ShardTimes struct {
	Busy   time.Duration // how long systems ran
	Waited time.Duration // how long the shard waited before systems at fences
	HeldUp time.Duration // how long other shards waited because this one was the last to pass
}

// ShardStats are the Stats of a system on one shard; AppendShards returns them.
type ShardStats struct {
	Runs, Panics     uint64
	Total, Last, Max time.Duration
	// Waited is how long the shard waited before the system at fences, until a worker took it
	// again. HeldUp is how long other shards waited because this one was the last to pass the
	// system; a shard waits for one other at a time.
	Waited, HeldUp time.Duration
	// P50 is the median of the runs here, and P99 what 99 of 100 did not exceed. Both are off by a
	// quarter at most, up or down.
	P50, P99 time.Duration
	Off      bool // it panicked here, and no longer runs here
}

// Stats writes the counts and times to dst. It is for the goroutine that owns the
// scheduler, between ticks: in OnTick, for example. It reuses the slices of dst,
// so that a call in each tick allocates nothing. Its time grows with the systems plus the shards,
// not with their product.
func (s *Scheduler) Stats(dst *Stats) {
	if dst == nil {
		panic("scheduler: Scheduler.Stats to a nil Stats; pass one to fill")
	}
	s.mustRest("Stats")
	systems, shards, waits, climbs := dst.Systems[:0], dst.Shards[:0], dst.Waits[:0], dst.Climbs[:0]
	*dst = s.counts
	t := &s.tick
	dst.Waits, dst.Rung = t.appendWaits(waits), s.ladder.at
	dst.Interval, dst.Budget = s.inForce()
	dst.Climbed, dst.Climbs = s.ladder.climbed, append(climbs, s.ladder.climbs...)
	dst.Systems = slices.Grow(systems, len(t.systems))[:len(t.systems)]
	for at, x := range t.systems {
		x.stats(&dst.Systems[at], t.scale)
	}
	for i := range len(t.programs) - 1 { // the last is of the global systems
		took := &t.programs[i].took
		shards = append(shards, ShardTimes{t.scale.Duration(took.busy), t.scale.Duration(took.waited), t.scale.Duration(took.heldUp)})
	}
	dst.Shards = shards
}

// stats writes what the workers measured of the system.
func (s *system) stats(to *SystemStats, scale clock.Scale) {
	*to = SystemStats{Name: s.name, Global: s.global, Enabled: s.enabled.Load(), Waited: scale.Duration(s.waited)}
	for i := range s.times {
		of := &s.times[i]
		to.Time.Merge(&of.Histogram)
		to.Panics += of.panics
	}
	to.Runs, to.Total, to.Max = to.Time.Count(), to.Time.Sum(), to.Time.Max()
}

// AppendShards appends to dst the Stats of a system on each shard, in their order; the Stats of a
// global system are one. It returns an error if there is no such system. Like Stats it is for the
// goroutine that owns the scheduler, between ticks.
func (s *Scheduler) AppendShards(dst []ShardStats, name string) ([]ShardStats, error) {
	s.mustRest("AppendShards")
	t := &s.tick
	at := slices.IndexFunc(t.systems, func(x *system) bool { return x.name == name })
	if at < 0 { // or it was added since the last tick
		_, err := s.find(name)
		return dst, err
	}
	for i := range t.programs {
		if p := &t.programs[i]; t.systems[at].global == (p.shard == world.AllShards) {
			dst = append(dst, p.stats(t.scale, p.find(at)))
		}
	}
	return dst, nil
}

// stats returns what was measured of a step.
func (p *program) stats(scale clock.Scale, i int) ShardStats {
	m := &p.stepTimes[i]
	one := ShardStats{
		Runs: m.runs, Panics: m.panics, Off: p.steps[i].off,
		Total: scale.Duration(m.total), Last: scale.Duration(m.now), Max: scale.Duration(m.most),
		Waited: scale.Duration(m.waited), HeldUp: scale.Duration(m.heldUp),
	}
	one.P50, one.P99 = p.spreads[i].quantiles(m.runs, one.Max)
	return one
}

// Shifts returns what the Balancer decided in the last tick, for example for a log of inputs. It is
// for the goroutine that owns the scheduler, between ticks; the slice is good until the next one.
func (s *Scheduler) Shifts() []Shift {
	s.mustRest("Shifts")
	return s.balancing.shifts
}

// record counts the time of the tick, and which shards waited in it for which.
func (s *Scheduler) record() {
	t := &s.tick
	s.before = s.outside.took
	s.took = s.before + time.Since(s.start) - s.waited
	s.counts.Time.Add(s.took)
	s.counts.Between.Add(s.before)
	for i := range t.programs {
		if p := &t.programs[i]; len(p.waits) > 0 {
			t.blame(p)
		}
	}
	if t.traced {
		s.trace(s.took)
	}
	s.outside.forget()
}

// WaitShardsMax is the largest number of shards for which Stats.Waits is filled: for that many the
// table of all pairs of shards takes half a megabyte.
const WaitShardsMax = 256

// Wait is how long a shard waited at fences because another shard was the last to pass.
// world.AllShards stands for global systems.
type Wait struct {
	Shard, For int
	Time       time.Duration // since the scheduler was made
}

// appendWaits appends which shards waited for which.
func (t *tick) appendWaits(dst []Wait) []Wait {
	n := len(t.programs)
	for at, took := range t.pairs {
		if took > 0 {
			dst = append(dst, Wait{t.programs[at/n].shard, t.programs[at%n].shard, t.scale.Duration(took)})
		}
	}
	return dst
}
