package scheduler_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

const second = time.Second

// timed is a scheduler that makes a tick a second, in a bubble of its own time,
// and what it reported.
type timed struct {
	*fixture
	reports []scheduler.Report
	ended   chan error
}

// newTimed makes one and lets it run. work takes so long, in each tick.
func newTimed(t *testing.T, o scheduler.Options, work func(tick uint64) time.Duration) *timed {
	r := &timed{ended: make(chan error, 1)}
	o.OnTick = func(x scheduler.Report) { r.reports = append(r.reports, x) }
	r.fixture = newFixtureOf(t, world.Options{Shards: 2, TickInterval: second}, o)
	r.MustAdd("work", func(b *world.Build) func(*world.Context) {
		return func(c *world.Context) {
			if c.Shard() == 0 && work != nil {
				time.Sleep(work(c.Tick()))
			}
		}
	})
	return r
}

// start lets it run in the background.
func (r *timed) start(ctx context.Context) {
	go func() { r.ended <- r.Run(ctx) }()
	synctest.Wait()
}

// mustHaveMade checks the number of ticks so far.
func (r *timed) mustHaveMade(t *testing.T, ticks int) {
	t.Helper()
	synctest.Wait()
	require.Equal(t, uint64(ticks), r.w.Tick())
}

// TestPause pauses, makes single ticks, resumes without making up for what was
// missed, and stops.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTimed(t, scheduler.Options{Workers: 2}, nil)
		require.False(t, r.StepOnce(), "it is not paused")
		r.start(t.Context())
		r.mustHaveMade(t, 1)
		time.Sleep(2500 * time.Millisecond)
		r.mustHaveMade(t, 3)
		r.Pause()
		require.True(t, r.Paused())
		time.Sleep(100 * second)
		r.mustHaveMade(t, 3)
		require.True(t, r.StepOnce())
		r.mustHaveMade(t, 4)
		for range 3 {
			require.True(t, r.StepOnce())
		}
		r.mustHaveMade(t, 7)
		time.Sleep(100 * second)
		r.mustHaveMade(t, 7)
		r.Resume()
		require.False(t, r.Paused())
		r.mustHaveMade(t, 8)
		time.Sleep(2500 * time.Millisecond)
		r.mustHaveMade(t, 10)
		r.Stop()
		require.NoError(t, <-r.ended)
		r.mustHaveMade(t, 10)
		for _, x := range r.reports {
			require.Zero(t, x.Skipped)
			require.Zero(t, x.Late)
			require.False(t, x.Overrun)
		}
	})
}

// TestPauseDropsSteps pauses again in the second of five single ticks: the others are not made.
func TestPauseDropsSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTimed(t, scheduler.Options{}, nil)
		r.MustAdd("stop", func(*world.Build) func(*world.Context) {
			return func(c *world.Context) {
				if c.Tick() == 1 {
					r.Pause()
				}
			}
		})
		r.Pause()
		for range 5 {
			require.True(t, r.StepOnce())
		}
		r.start(t.Context())
		r.mustHaveMade(t, 2)
		time.Sleep(100 * second)
		r.mustHaveMade(t, 2)
		require.True(t, r.StepOnce())
		r.mustHaveMade(t, 3)
		r.Stop()
		require.NoError(t, <-r.ended)
	})
}

// TestPauseBeforeRun begins paused; a stop or the context ends a paused Run.
func TestPauseBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTimed(t, scheduler.Options{}, nil)
		r.Pause()
		r.start(t.Context())
		time.Sleep(10 * second)
		r.mustHaveMade(t, 0)
		r.Stop()
		require.NoError(t, <-r.ended)

		ctx, cancel := context.WithCancel(t.Context())
		r.start(ctx)
		r.StepOnce()
		r.mustHaveMade(t, 1)
		cancel()
		require.NoError(t, <-r.ended)
		r.mustHaveMade(t, 1)

		require.NoError(t, r.Step(t.Context()), "Step is not concerned")
		r.mustHaveMade(t, 2)
	})
}

// TestStop ends Run after the tick that is under way, called by a system, or
// before Run begins; the next Run goes on.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *timed
		r = newTimed(t, scheduler.Options{}, func(tick uint64) time.Duration {
			if tick == 3 {
				r.Stop()
			}
			return second / 2
		})
		r.start(t.Context())
		time.Sleep(100 * second)
		require.NoError(t, <-r.ended)
		r.mustHaveMade(t, 4)
		r.Stop()
		require.NoError(t, r.Run(t.Context()))
		r.mustHaveMade(t, 4)
		r.start(t.Context())
		time.Sleep(7 * second / 2)
		r.Stop()
		require.NoError(t, <-r.ended)
		r.mustHaveMade(t, 8)
	})
}

// TestControlFromAnywhere lets many goroutines tell Run what to do at once.
func TestControlFromAnywhere(t *testing.T) {
	f := newFixtureOf(t, world.Options{Shards: 2, TickInterval: time.Microsecond}, scheduler.Options{Workers: 2})
	f.MustAdd("idle", idle)
	ended := make(chan error)
	go func() { ended <- f.Run(t.Context()) }()
	done := make(chan struct{})
	for range 3 {
		go func() {
			for range iterations(500) {
				f.Pause()
				pause()
				f.StepOnce()
				_ = f.Paused()
				f.Resume()
			}
			done <- struct{}{}
		}()
	}
	for range 3 {
		<-done
	}
	for f.w.Tick() == 0 {
		runtime.Gosched()
	}
	f.Stop()
	require.NoError(t, <-ended)
}

// TestOverrun has tick 2 take 7.5 intervals, and tick 12 take 1.5, by each policy.
func TestOverrun(t *testing.T) {
	for _, test := range []struct {
		policy  scheduler.OverrunPolicy
		most    int
		skipped uint64
		slipped time.Duration
		late    []time.Duration // by tick
		began   time.Duration   // when tick 14 began
	}{
		// Behind by 6.5 ticks, of which 6 are given up.
		{scheduler.CatchUp, 5, 6, 0, []time.Duration{0, 0, 0, second / 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, second / 2, 0}, 20 * second},
		// Behind, but not by more than 10: each next tick comes at once.
		{scheduler.CatchUp, 10, 0, 0, []time.Duration{0, 0, 0, 13 * second / 2, 11 * second / 2, 9 * second / 2, 7 * second / 2,
			5 * second / 2, 3 * second / 2, second / 2, 0, 0, 0, second / 2, 0}, 14 * second},
		{scheduler.Skip, 0, 8, 0, []time.Duration{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 22 * second},
		{scheduler.SlowClock, 0, 0, 7 * second, []time.Duration{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 21 * second},
	} {
		t.Run(test.policy.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := map[uint64]time.Duration{}
				start := time.Now()
				r := newTimed(t, scheduler.Options{Overrun: test.policy, CatchUpMax: test.most}, func(tick uint64) time.Duration {
					began[tick] = time.Since(start)
					return map[uint64]time.Duration{2: 15 * second / 2, 12: 3 * second / 2}[tick]
				})
				r.start(t.Context())
				time.Sleep(25 * second)
				r.Stop()
				require.NoError(t, <-r.ended)
				for tick, late := range test.late {
					x := r.reports[tick]
					require.Equal(t, uint64(tick), x.Tick)
					require.Equal(t, late, x.Late, "tick %d", tick)
					require.Equal(t, tick == 2 || tick == 12, x.Overrun)
				}
				require.Equal(t, test.began, began[14])
				last := r.reports[len(r.reports)-1]
				require.Equal(t, test.skipped, last.Skipped)
				require.Equal(t, test.slipped, last.Slipped)
				require.Equal(t, uint64(2), last.Overruns)
				require.Equal(t, 15*second/2, r.reports[2].Duration)
				var s scheduler.Stats
				r.Stats(&s)
				require.Zero(t, s.Between.Sum(), "OnTick takes no time here")
				require.Equal(t, scheduler.Stats{
					Shards: s.Shards, Ticks: r.w.Tick(), Overruns: 2, Skipped: test.skipped, Slipped: test.slipped, Interval: second, Budget: second,
					Time: s.Time, Between: s.Between, Systems: s.Systems,
				}, s)
			})
		})
	}
}

// TestBudget counts what takes longer than the budget, though not than the
// interval.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTimed(t, scheduler.Options{Budget: second / 4}, func(tick uint64) time.Duration {
			return time.Duration(tick) * second / 10
		})
		r.start(t.Context())
		time.Sleep(9*second/2 + 1)
		r.Stop()
		require.NoError(t, <-r.ended)
		require.Len(t, r.reports, 5)
		for i, x := range r.reports {
			require.Equal(t, i > 2, x.Overrun)
			require.Zero(t, x.Late)
		}
	})
}

// TestRunning asks whether a Run is under way.
func TestRunning(t *testing.T) {
	f := newFixture(t, 1, 1)
	require.False(t, f.Running())
	f.step(1)
	require.False(t, f.Running())
	done := make(chan error, 1)
	go func() { done <- f.Run(t.Context()) }()
	require.Eventually(t, f.Running, 5*time.Second, time.Millisecond)
	f.Pause()
	require.True(t, f.Running())
	f.Stop()
	require.NoError(t, <-done)
	require.False(t, f.Running())
}
