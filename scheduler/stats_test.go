package scheduler_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
	require.Len(t, global.Shards, 1)
	require.True(t, global.Global && !slow.Global)
	total := time.Duration(0)
	for shard, x := range slow.Shards {
		want := time.Duration(shard) * unit
		require.Equal(t, uint64(4), x.Runs)
		require.GreaterOrEqual(t, x.Total, 4*want)
		require.GreaterOrEqual(t, x.Max, x.Last)
		require.GreaterOrEqual(t, x.Last, want)
		require.LessOrEqual(t, x.Max, x.Total)
		total += x.Total
	}
	require.Equal(t, total, slow.Total)
	require.GreaterOrEqual(t, slow.Last, 3*unit)
	require.GreaterOrEqual(t, global.Last, unit)
	require.Zero(t, testing.AllocsPerRun(10, func() { f.Stats(&s) }))
	require.Equal(t, []uint64{4, 12, 6, 2}, []uint64{s.Time.Count(), slow.Time.Count(), even.Time.Count(), global.Time.Count()})
	require.GreaterOrEqual(t, slow.Shards[2].P50, 2*unit*3/4)
	require.GreaterOrEqual(t, slow.Time.Max(), 2*unit)
	require.GreaterOrEqual(t, s.Time.Quantile(0.5), 2*unit*7/8, "no less than the slowest shard")
	for s.Systems[1].Shards[0].Last >= unit { // what does nothing takes no time, when nobody else has the processor
		f.step(2)
		f.Stats(&s)
	}
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
