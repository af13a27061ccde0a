package scheduler

import (
	"time"

	"github.com/atoll-sim/atoll/stats"
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
	// in OnTick, in functions of Scheduler.Between, on captures of the idle world for a log of
	// inputs, on a plan for systems that were added. What it does while Run is paused does not
	// count.
	Between stats.Histogram
	Systems []SystemStats // in the order in which they run, merges included
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
	Last    time.Duration   // the last runs of each shard, added up
	Max     time.Duration   // the longest run on a shard
	Waited  time.Duration   // how long shards waited before it at fences
	Time    stats.Histogram // of each run on a shard
	Shards  []ShardStats    // by shard; of a global system one
}

// ShardStats is the Stats of a system on one shard.
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
// so that a call in each tick allocates nothing.
func (s *Scheduler) Stats(dst *Stats) {
	if dst == nil {
		panic("scheduler: Scheduler.Stats to a nil Stats; pass one to fill")
	}
	s.mustRest("Stats")
	systems, waits, climbs := dst.Systems[:0], dst.Waits[:0], dst.Climbs[:0]
	*dst = s.counts
	t := &s.tick
	dst.Systems, dst.Waits, dst.Rung = systems, t.appendWaits(waits), s.ladder.at
	dst.Interval, dst.Budget = s.inForce()
	dst.Climbed, dst.Climbs = s.ladder.climbed, s.ladder.appendClimbs(climbs)
	for at, x := range t.systems {
		if len(dst.Systems) < cap(dst.Systems) {
			dst.Systems = dst.Systems[:at+1]
		} else {
			dst.Systems = append(dst.Systems, SystemStats{})
		}
		to := &dst.Systems[at]
		*to = SystemStats{Name: x.name, Global: x.global, Enabled: x.enabled.Load(), Shards: to.Shards[:0]}
		for i := range x.times {
			to.Time.Merge(&x.times[i].Histogram)
		}
	}
	for i := range t.programs {
		p := &t.programs[i]
		for k := range p.steps {
			dst.Systems[p.steps[k].at].add(t, p, k)
		}
	}
}

// add adds the times of a step on one shard.
func (s *SystemStats) add(t *tick, p *program, i int) {
	m := &p.stepTimes[i]
	one := ShardStats{
		Runs: m.runs, Panics: m.panics, Off: p.steps[i].off,
		Total: t.scale.Duration(m.total), Last: t.scale.Duration(m.now), Max: t.scale.Duration(m.most),
		Waited: t.scale.Duration(m.waited), HeldUp: t.scale.Duration(m.heldUp),
	}
	one.P50, one.P99 = p.spreads[i].quantiles(m.runs, one.Max)
	s.Runs += one.Runs
	s.Panics += one.Panics
	s.Total += one.Total
	s.Last += one.Last
	s.Max = max(s.Max, one.Max)
	s.Waited += one.Waited
	s.Shards = append(s.Shards, one)
}

// record counts the time of the tick, and which shards waited in it for which.
func (s *Scheduler) record() {
	t := &s.tick
	s.before = s.outside.took
	s.took = s.before + time.Since(s.start)
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
