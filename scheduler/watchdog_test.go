package scheduler_test

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// waitForTheBell is where the system of TestWatchdog is found.
//
//go:noinline
func waitForTheBell(bell <-chan struct{}) { <-bell }

// TestWatchdog has a system not return, on a worker or on the coordinator: the
// watchdog names it, once, with its stack, while the tick still runs.
func TestWatchdog(t *testing.T) {
	for _, workers := range []int{1, 3} {
		noLeaks(t)
		bell := make(chan struct{})
		told := make(chan scheduler.Stuck, 10)
		var log bytes.Buffer
		f := newFixtureOf(t, world.Options{Shards: 6}, scheduler.Options{
			Workers: workers, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Watchdog: scheduler.Watchdog{After: 100 * time.Millisecond, Notify: func(s scheduler.Stuck) { told <- s }},
		})
		f.MustAdd("swift", idle)
		f.MustAdd("stuck", func(*world.Build) func(*world.Context) {
			return func(c *world.Context) {
				if c.Shard() == 4 && c.Tick() == 2 {
					waitForTheBell(bell)
				}
			}
		})
		ended := make(chan error)
		go func() {
			f.step(2)
			ended <- f.Step(t.Context())
		}()
		s := <-told
		require.Equal(t, "stuck", s.System)
		require.Equal(t, 4, s.Shard)
		require.Equal(t, uint64(2), s.Tick)
		require.GreaterOrEqual(t, s.Duration, 100*time.Millisecond)
		require.Contains(t, s.Stack, "waitForTheBell")
		require.NotContains(t, s.Stack, "TestWatchdog(", "no other goroutine's")
		require.Contains(t, s.String(), `system "stuck" has been running for`)
		select {
		case <-ended:
			t.Error("the tick has ended")
		case <-time.After(250 * time.Millisecond):
		}
		close(bell)
		require.NoError(t, <-ended)
		require.Empty(t, told, "told once")
		require.Contains(t, log.String(), `msg="system does not return" system=stuck shard=4 tick=2`)
		f.step(2)
		require.Empty(t, told)
	}
}

// TestWatchdogOfGlobals names a global system, and one that is stuck again.
func TestWatchdogOfGlobals(t *testing.T) {
	told := make(chan scheduler.Stuck, 10)
	var all []scheduler.Stuck
	f := newFixtureOf(t, world.Options{Shards: 2}, scheduler.Options{
		Watchdog: scheduler.Watchdog{After: 5 * time.Millisecond, Notify: func(s scheduler.Stuck) { told <- s }},
	})
	f.MustAdd("lord", func(*world.Build) func(*world.Context) {
		return func(*world.Context) { all = append(all, <-told) }
	}, scheduler.Global())
	f.step(2)
	require.Empty(t, told, "told once each")
	for i, s := range all {
		require.Equal(t, world.AllShards, s.Shard)
		require.Equal(t, "lord", s.System)
		require.Equal(t, uint64(i), s.Tick)
	}
}

// TestWatchdogOff refuses a time below 0.
func TestWatchdogOff(t *testing.T) {
	w := world.MustNew(world.Options{})
	require.PanicsWithValue(t, "scheduler: Watchdog.After is -1ns, want more than 0, or 0 for none", func() {
		scheduler.New(w, scheduler.Options{Watchdog: scheduler.Watchdog{After: -1}})
	})
}
