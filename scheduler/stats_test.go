package scheduler_test

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/persist/inputlog"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestStats measures systems that take known times, and counts their runs.
func TestStats(t *testing.T) {
	const unit = 3 * time.Millisecond
	f := newFixture(t, 3, 2)
	f.MustAdd("slow", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) { time.Sleep(time.Duration(c.Shard()) * unit) }
	})
	f.MustAdd("idle", idle, scheduler.Every(2, 0))
	f.MustAdd("global", func(*world.Build) func(*world.Context) {
		return func(*world.Context) { time.Sleep(unit) }
	}, scheduler.Global(), scheduler.Disabled())
	f.step(2)
	require.NoError(t, f.Enable("global"))
	f.step(2)
	var s scheduler.Stats
	f.Stats(&s)
	require.Equal(t, uint64(4), s.Ticks)
	require.Len(t, s.Systems, 3)
	slow, even, global := s.Systems[0], s.Systems[1], s.Systems[2]
	require.Equal(t, []string{"slow", "idle", "global"}, []string{slow.Name, even.Name, global.Name})
	require.Equal(t, []uint64{12, 6, 2}, []uint64{slow.Runs, even.Runs, global.Runs})
	require.Len(t, f.on("global"), 1)
	require.True(t, global.Global && !slow.Global)
	total := time.Duration(0)
	for shard, x := range f.on("slow") {
		want := time.Duration(shard) * unit
		require.Equal(t, uint64(4), x.Runs)
		require.GreaterOrEqual(t, x.Total, 4*want)
		require.GreaterOrEqual(t, x.Max, x.Last)
		require.GreaterOrEqual(t, x.Last, want)
		require.LessOrEqual(t, x.Max, x.Total)
		require.LessOrEqual(t, x.Max, slow.Max)
		require.InDelta(t, x.Total+f.on("idle")[shard].Total, s.Shards[shard].Busy, 20)
		total += x.Total
	}
	require.Len(t, s.Shards, 3, "the global system is not in them")
	require.InDelta(t, total, slow.Total, 20, "each is rounded down")
	require.GreaterOrEqual(t, f.on("global")[0].Last, unit)
	require.Zero(t, testing.AllocsPerRun(10, func() { f.Stats(&s) }))
	require.Equal(t, []uint64{4, 12, 6, 2}, []uint64{s.Time.Count(), slow.Time.Count(), even.Time.Count(), global.Time.Count()})
	require.GreaterOrEqual(t, f.on("slow")[2].P50, 2*unit*3/4)
	require.GreaterOrEqual(t, slow.Time.Max(), 2*unit)
	require.GreaterOrEqual(t, s.Time.Quantile(0.5), 2*unit, "no less than the slowest shard")
	for f.on("idle")[0].Last >= unit { // what does nothing takes no time, when nobody else has the processor
		f.step(2)
	}
}

// TestAppendShards appends, and knows a system that has not been planned yet.
func TestAppendShards(t *testing.T) {
	f := newFixture(t, 3, 2)
	f.MustAdd("a", idle)
	f.step(2)
	f.MustAdd("b", idle)
	all, err := f.AppendShards(make([]scheduler.ShardStats, 1), "a")
	require.NoError(t, err)
	require.Len(t, all, 1+3)
	require.Equal(t, uint64(2), all[3].Runs)
	all, err = f.AppendShards(all[:2], "b")
	require.NoError(t, err)
	require.Len(t, all, 2)
	all, err = f.AppendShards(all[:2], "c")
	require.EqualError(t, err, `scheduler: there is no system "c"`)
	require.Len(t, all, 2)
	require.Zero(t, testing.AllocsPerRun(10, func() { all, _ = f.AppendShards(all[:0], "a") }))
}

// TestStatsGrow keeps what was measured when systems are added in between.
func TestStatsGrow(t *testing.T) {
	f := newFixture(t, 2, 1)
	var s scheduler.Stats
	f.Stats(&s)
	require.Empty(t, s.Systems)
	f.MustAdd("b", idle)
	f.step(3)
	f.MustAdd("a", idle, scheduler.Before("b"))
	f.step(1)
	f.Stats(&s)
	require.Equal(t, "a", s.Systems[0].Name)
	require.Equal(t, uint64(2), s.Systems[0].Runs)
	require.Equal(t, uint64(8), s.Systems[1].Runs)
}

// TestDurations holds that a Report, the Stats and a Trace tell the same time of a tick, by Run and
// by Step, also if systems were added or the idle world was changed before it.
func TestDurations(t *testing.T) {
	w := world.MustNew(world.Options{Shards: 2, TickInterval: time.Millisecond})
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	movers := world.NewBundle[Mover](w)
	var s *scheduler.Scheduler
	var of scheduler.Stats
	var was time.Duration
	ticks, overruns := 0, uint64(0)
	budget := 200 * time.Microsecond
	s = scheduler.New(w, scheduler.Options{Budget: budget, OnTick: func(r scheduler.Report) {
		s.Stats(&of)
		require.Equal(t, of.Time.Sum()-was, r.Duration, "tick %d", r.Tick)
		require.Equal(t, r.Duration > budget, r.Overrun, "tick %d", r.Tick)
		was = of.Time.Sum()
		if r.Overrun && s.Running() {
			overruns++
		}
		if ticks++; ticks == 20 {
			s.Stop()
		}
	}})
	add := func(name string) {
		s.MustAdd(name, func(*world.Build) func(*world.Context) {
			return func(c *world.Context) {
				if c.Tick()%3 == 0 {
					time.Sleep(budget)
				}
			}
		})
	}
	add("first")
	overrun := s.KeepOverruns(1)
	defer overrun.Close()
	require.NoError(t, s.Step(t.Context()))
	last := overrun.Traces()[0]
	require.Equal(t, was, last.Duration)
	require.Zero(t, of.Overruns, "they are of Run")
	add("second")
	recorder, err := inputlog.NewRecorder(w, io.Discard, inputlog.Options{})
	require.NoError(t, err)
	require.NoError(t, movers.CreateN(w, 20_000, nil))
	require.NoError(t, s.Run(t.Context()))
	require.Equal(t, overruns, of.Overruns)
	require.Equal(t, uint64(20), of.Time.Count())
	require.NoError(t, recorder.Close())
}

// TestStatsInForce has a rung that slows ticks down: the Stats tell the interval and the budget
// that hold then.
func TestStatsInForce(t *testing.T) {
	const interval, budget = 2 * time.Millisecond, time.Nanosecond // each tick takes longer
	var s *scheduler.Scheduler
	w := world.MustNew(world.Options{TickInterval: interval})
	ladder := []scheduler.Rung{scheduler.SkipOptional(), scheduler.Slow(2), scheduler.Slow(3)}
	slow := []time.Duration{1, 1, 2, 6}
	var of scheduler.Stats
	s = scheduler.New(w, scheduler.Options{Budget: budget, Ladder: ladder, OnTick: func(r scheduler.Report) {
		s.Stats(&of)
		require.Equal(t, slow[r.Rung]*interval, of.Interval, "rung %d", r.Rung)
		require.Equal(t, slow[r.Rung]*budget, of.Budget, "rung %d", r.Rung)
		if r.Rung == len(ladder) {
			s.Stop()
		}
	}})
	traced := make(chan []scheduler.Trace)
	go func() {
		got, _ := s.Trace(t.Context(), scheduler.TraceTicksMax) // until the world is closed
		traced <- got
	}()
	require.NoError(t, s.Run(t.Context()))
	require.Zero(t, of.Slipped, "a rung slows the world down on purpose")
	s.Stats(&of)
	require.Equal(t, interval, of.Interval, "no rung is in force after Run")
	require.Equal(t, budget, of.Budget)
	w.Close()
	for _, x := range <-traced {
		require.Contains(t, []time.Duration{budget, 2 * budget, 6 * budget}, x.Budget)
	}
}
