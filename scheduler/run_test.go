package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// running runs a scheduler of one shard until tick last is reported, and returns
// the reports. work is the system.
func running(t *testing.T, interval time.Duration, last uint64, work func(tick uint64)) ([]scheduler.Report, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var reports []scheduler.Report
	var f *fixture
	f = newFixtureOf(t, world.Options{Shards: 1, TickInterval: interval}, scheduler.Options{
		OnTick: func(r scheduler.Report) {
			require.Equal(t, r.Tick+1, f.w.Tick())
			f.w.Count() // the world is idle
			if reports = append(reports, r); r.Tick == last {
				cancel()
			}
		},
	})
	f.MustAdd("work", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) { work(c.Tick()) }
	})
	err := f.Run(ctx)
	require.Equal(t, uint64(len(reports)), f.w.Tick())
	return reports, err
}

// TestRunEndsWithItsContext makes ticks until the context ends, and returns nil.
func TestRunEndsWithItsContext(t *testing.T) {
	noLeaks(t)
	reports, err := running(t, time.Millisecond, 9, func(uint64) {})
	require.NoError(t, err)
	require.Len(t, reports, 10)
	for i, r := range reports {
		require.Equal(t, uint64(i), r.Tick)
		require.Positive(t, r.Duration)
		require.GreaterOrEqual(t, r.Late, time.Duration(0))
	}
}

// TestRunEndedContext makes no tick at all.
func TestRunEndedContext(t *testing.T) {
	f := newFixture(t, 1, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, f.Run(ctx))
	require.Zero(t, f.w.Tick())
}

// TestRunEndsWhileItWaits ends the context between two ticks that are far apart.
func TestRunEndsWhileItWaits(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := newFixtureOf(t, world.Options{Shards: 1, TickInterval: time.Hour}, scheduler.Options{
		OnTick: func(scheduler.Report) { time.AfterFunc(time.Millisecond, cancel) },
	})
	require.NoError(t, f.Run(ctx))
	require.Equal(t, uint64(1), f.w.Tick(), "the first tick is due at once")
}

// TestRunKeepsTime never ticks ahead of time.
func TestRunKeepsTime(t *testing.T) {
	const interval, last = 5 * time.Millisecond, 10
	began := time.Now()
	_, err := running(t, interval, last, func(uint64) {})
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(began), last*interval)
}

// TestRunOverrun takes three intervals for a tick: it is reported, the next ones
// are late, and none is given up.
func TestRunOverrun(t *testing.T) {
	const interval = 100 * time.Millisecond
	reports, err := running(t, interval, 2, func(tick uint64) {
		if tick == 1 {
			time.Sleep(3 * interval)
		}
	})
	require.NoError(t, err)
	require.True(t, reports[1].Overrun)
	require.GreaterOrEqual(t, reports[1].Duration, 3*interval)
	require.GreaterOrEqual(t, reports[2].Late, 2*interval)
}

// TestRunSkips takes so long for a tick that Run gives those up that were due.
func TestRunSkips(t *testing.T) {
	const interval = 5 * time.Millisecond
	began := time.Now()
	reports, err := running(t, interval, 8, func(tick uint64) {
		if tick == 2 {
			time.Sleep(20 * interval)
		}
	})
	require.NoError(t, err)
	require.True(t, reports[2].Overrun)
	require.GreaterOrEqual(t, reports[3].Skipped, uint64(19))
	require.Equal(t, uint64(3), reports[3].Tick, "the numbers of the ticks have no gap")
	last := reports[len(reports)-1]
	require.GreaterOrEqual(t, last.Skipped, reports[3].Skipped, "counted since Run began")
	require.LessOrEqual(t, last.Tick+last.Skipped, uint64(time.Since(began)/interval), "each due tick is made or given up, once")
}

// TestRunReturnsErrors ends at the tick in which a system panicked, after it.
func TestRunReturnsErrors(t *testing.T) {
	reports, err := running(t, time.Millisecond, 100, func(tick uint64) {
		if tick == 3 {
			panic(errBroken)
		}
	})
	require.ErrorIs(t, err, errBroken)
	require.Len(t, reports, 4)
}

// TestRunTwice begins a Run while another is under way: it returns ErrRunning at once, and the
// first makes the ticks that it would have made. After it Run may be called again.
func TestRunTwice(t *testing.T) {
	f := newFixtureOf(t, world.Options{Shards: 1, TickInterval: time.Millisecond}, scheduler.Options{})
	begun := make(chan struct{}, 1)
	f.MustAdd("begins", func(*world.Build) func(*world.Context) {
		return func(*world.Context) {
			select {
			case begun <- struct{}{}:
			default:
			}
		}
	})
	for range 2 {
		first := make(chan error)
		go func() { first <- f.Run(t.Context()) }()
		<-begun
		require.ErrorIs(t, f.Run(t.Context()), scheduler.ErrRunning)
		f.Stop()
		require.NoError(t, <-first)
		select {
		case <-begun:
		default:
		}
	}
}

// TestRunWithinOnTick asks for another Run where the world is idle but Run's.
func TestRunWithinOnTick(t *testing.T) {
	var f *fixture
	var err error
	f = newFixtureOf(t, world.Options{Shards: 1, TickInterval: time.Millisecond}, scheduler.Options{
		OnTick: func(scheduler.Report) { err = f.Run(context.Background()); f.Stop() },
	})
	require.NoError(t, f.Run(t.Context()))
	require.Equal(t, scheduler.ErrRunning, err)
	require.Equal(t, uint64(1), f.w.Tick())
}
