package scheduler_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// outsideOf makes ticks of 100 ms, in a bubble of its own time, whose systems take 10 ms and whose
// OnTick does what the test says.
func outsideOf(t *testing.T, o scheduler.Options) *fixture {
	o.Workers = 1
	f := newFixtureOf(t, world.Options{Shards: 1, TickInterval: 100 * time.Millisecond}, o)
	f.MustAdd("work", func(*world.Build) func(*world.Context) {
		return func(*world.Context) { time.Sleep(10 * time.Millisecond) }
	})
	return f
}

// TestOutsideCounts has OnTick, or functions of Between, take longer than ticks may: what looks at
// ticks sees it, and the ladder does something about it.
func TestOutsideCounts(t *testing.T) {
	const slow = 120 * time.Millisecond
	for name, by := range map[string]struct {
		onTick  func()
		between func(*world.World)
		span    string
	}{
		"OnTick":  {func() { time.Sleep(slow) }, nil, "OnTick"},
		"Between": {func() {}, func(*world.World) { time.Sleep(slow) }, "functions of Between"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				var f *fixture
				var reports []scheduler.Report
				f = outsideOf(t, scheduler.Options{
					Overrun: scheduler.Skip, Ladder: []scheduler.Rung{scheduler.SkipOptional()},
					OnTick: func(r scheduler.Report) {
						if reports = append(reports, r); len(reports) == 6 {
							stop()
						}
						by.onTick()
						if by.between != nil {
							f.Between(by.between)
						}
					},
				})
				kept := f.KeepOverruns(1)
				require.NoError(t, f.Run(ctx))

				require.False(t, reports[0].Overrun, "nothing came before it")
				require.Equal(t, 10*time.Millisecond, reports[0].Duration)
				for _, r := range reports[1:] {
					require.True(t, r.Overrun)
					require.Equal(t, slow, r.Between)
					require.Equal(t, slow+10*time.Millisecond, r.Duration)
				}
				require.Equal(t, 0, reports[3].Rung, "three of them take too long")
				require.Equal(t, 1, reports[4].Rung)
				var s scheduler.Stats
				f.Stats(&s)
				require.EqualValues(t, 5, s.Overruns)
				require.EqualValues(t, 6, s.Between.Count())
				require.Equal(t, 5*slow, s.Between.Sum())
				require.Equal(t, s.Between.Sum()+6*10*time.Millisecond, s.Time.Sum())

				x := kept.Traces()[0]
				require.True(t, x.Overrun)
				require.Equal(t, slow, x.Between)
				require.Equal(t, slow+10*time.Millisecond, x.Duration)
				require.Equal(t, scheduler.Span{
					Kind: scheduler.SpanBetween, Name: by.span, Shard: world.AllShards, For: world.AllShards,
					From: -slow, Critical: true,
				}, x.Spans[0])
			})
		})
	}
}

// TestOutsideOfStep has Step call a function of Between and OnTick: both count for the tick that
// comes later for it.
func TestOutsideOfStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last scheduler.Report
		f := outsideOf(t, scheduler.Options{OnTick: func(r scheduler.Report) {
			last = r
			time.Sleep(20 * time.Millisecond)
		}})
		f.step(1)
		require.Equal(t, 10*time.Millisecond, last.Duration)
		time.Sleep(time.Second) // of the caller
		f.Between(func(*world.World) { time.Sleep(75 * time.Millisecond) })
		f.step(1)
		require.Equal(t, 95*time.Millisecond, last.Between)
		require.Equal(t, 105*time.Millisecond, last.Duration)
		require.True(t, last.Overrun)
		f.step(1)
		require.Equal(t, 30*time.Millisecond, last.Duration)
		require.False(t, last.Overrun)
	})
}

// TestOutsideOfPause calls slow functions while Run is paused: no tick is due meanwhile.
func TestOutsideOfPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reports []scheduler.Report
		f := outsideOf(t, scheduler.Options{OnTick: func(r scheduler.Report) { reports = append(reports, r) }})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- f.Run(ctx) }()
		time.Sleep(50 * time.Millisecond)
		f.Pause()
		require.NoError(t, <-f.Between(func(*world.World) { time.Sleep(time.Hour) }))
		f.StepOnce()
		synctest.Wait()
		time.Sleep(20 * time.Millisecond)
		require.NoError(t, <-f.Between(func(*world.World) { time.Sleep(time.Hour) }))
		f.Resume()
		time.Sleep(120 * time.Millisecond)
		stop()
		require.NoError(t, <-ended)
		require.Len(t, reports, 4)
		for _, r := range reports {
			require.Zero(t, r.Between)
			require.False(t, r.Overrun)
		}
	})
}
