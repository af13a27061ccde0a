package scheduler_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestBetweenSteps calls what was asked for before the next tick, in order, on the idle world;
// what these ask for in turn, and what a system asks for, before the one after.
func TestBetweenSteps(t *testing.T) {
	f := newFixture(t, 2, 2)
	var seen []uint64
	note := func(w *world.World) { seen = append(seen, w.Tick()*10+uint64(w.Count())) }
	f.MustAdd("ask", scheduler.System(func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			if c.Tick() == 2 && c.Shard() == 0 {
				f.Between(note)
			}
		}
	}))
	f.step(1)
	first := f.Between(func(w *world.World) {
		require.NoError(t, f.movers.CreateN(w, 3, nil))
		f.Between(note)
	})
	second := f.Between(note)
	require.Empty(t, first)
	f.step(1)
	require.NoError(t, <-first)
	require.NoError(t, <-second)
	require.Equal(t, []uint64{13}, seen)
	f.step(2)
	require.Equal(t, []uint64{13, 23, 33}, seen)
}

// TestBetweenPanics tells the caller, and nobody else: the tick is made.
func TestBetweenPanics(t *testing.T) {
	f := newFixture(t, 1, 1)
	failed := f.Between(func(*world.World) { panic(errBroken) })
	nested := f.Between(func(*world.World) { _ = f.Step(t.Context()) })
	goes := f.Between(func(*world.World) {})
	f.step(1)
	var e *world.PanicError
	require.ErrorAs(t, <-failed, &e)
	require.ErrorIs(t, e, errBroken)
	require.EqualError(t, e, "scheduler: function between ticks panicked in tick 0: broken")
	require.ErrorContains(t, <-nested, "Scheduler.Step while a tick, or a function of Between, runs")
	require.NoError(t, <-goes)
	require.PanicsWithValue(t, "scheduler: Scheduler.Between of a nil function; pass one to call", func() { f.Between(nil) })
	var stats scheduler.Stats
	f.Stats(&stats)
	require.Equal(t, uint64(2), stats.Panics)
}

// TestBetweenGoexit ends the goroutine of Step, and leaves the scheduler as it was.
func TestBetweenGoexit(t *testing.T) {
	f := newFixture(t, 1, 1)
	left, after := f.Between(func(*world.World) { runtime.Goexit() }), f.Between(func(*world.World) {})
	var over sync.WaitGroup
	over.Go(func() { _ = f.Step(context.Background()) })
	over.Wait()
	require.ErrorContains(t, <-left, "runtime.Goexit")
	require.Zero(t, f.w.Tick())
	f.step(1)
	require.NoError(t, <-after)
}

// TestBetweenClosed tells what waits when the world is closed, and what comes later.
func TestBetweenClosed(t *testing.T) {
	f := newFixture(t, 1, 1)
	closing, waiting := f.Between(func(w *world.World) { w.Close() }), f.Between(func(*world.World) { t.Error("called") })
	require.ErrorIs(t, f.Step(t.Context()), world.ErrClosed)
	require.NoError(t, <-closing)
	require.ErrorIs(t, <-waiting, world.ErrClosed)
	late := f.Between(func(*world.World) { t.Error("called") })
	require.ErrorIs(t, f.Run(t.Context()), world.ErrClosed)
	require.ErrorIs(t, <-late, world.ErrClosed)
	require.ErrorIs(t, <-scheduler.New(f.w, scheduler.Options{}).Between(func(*world.World) { t.Error("called") }), world.ErrClosed)

	f = newFixture(t, 1, 1) // nobody makes a tick any more
	waiting = f.Between(func(*world.World) { t.Error("called") })
	f.w.Close()
	require.ErrorIs(t, <-waiting, world.ErrClosed)
	require.ErrorIs(t, <-f.Between(func(*world.World) { t.Error("called") }), world.ErrClosed)

	f = newFixture(t, 1, 1)
	waiting = f.Between(func(*world.World) { t.Error("called") })
	_ = engine.Of(f.w).BeginTick().Break("wrong")
	var broken *world.BrokenError
	require.ErrorAs(t, <-waiting, &broken)
}

// TestBetweenStopped calls functions before a Step also when Stop was called, which is for Run.
func TestBetweenStopped(t *testing.T) {
	f := newFixture(t, 1, 1)
	f.Stop()
	done := f.Between(func(*world.World) { f.Stop() })
	also := f.Between(func(*world.World) {})
	f.step(1)
	require.NoError(t, <-done)
	require.NoError(t, <-also)
}

// TestBetweenFull refuses one function too many, and calls the others.
func TestBetweenFull(t *testing.T) {
	f := newFixture(t, 1, 1)
	n := 0
	for range scheduler.BetweenMax {
		f.Between(func(*world.World) { n++ })
	}
	require.ErrorIs(t, <-f.Between(func(*world.World) {}), world.ErrFull)
	f.step(1)
	require.Equal(t, scheduler.BetweenMax, n)
}

// TestBetweenRun asks from many goroutines while Run makes ticks, stands still, and waits for
// a tick that is far away.
func TestBetweenRun(t *testing.T) {
	noLeaks(t)
	f := newFixtureOf(t, world.Options{Shards: 2, TickInterval: time.Millisecond}, scheduler.Options{Workers: 2})
	f.mark()
	f.MustAdd("count", func(b *world.Build) func(*world.Context) {
		value := world.Write[Value](b)
		all := b.Query(value)
		return func(*world.Context) {
			for ch := range all.Chunks() {
				for i := range value.Slice(ch) {
					value.Slice(ch)[i].N++
				}
			}
		}
	})
	ended := make(chan error)
	go func() { ended <- f.Run(context.Background()) }()
	n := 0
	ask := func() {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range iterations(50) {
					require.NoError(t, <-f.Between(func(w *world.World) { n += w.Count() }))
				}
			})
		}
		all.Wait()
	}
	ask()
	f.Pause()
	ask()
	require.NoError(t, <-f.Between(func(*world.World) {
		require.True(t, f.Paused())
		require.Equal(t, 2*2*8*iterations(50), n)
	}))
	f.Resume()
	ask()
	f.Stop()
	require.NoError(t, <-ended)

	slow := newFixtureOf(t, world.Options{Shards: 1, TickInterval: time.Hour}, scheduler.Options{})
	go func() { ended <- slow.Run(context.Background()) }()
	require.NoError(t, <-slow.Between(func(w *world.World) {}))
	require.NoError(t, <-slow.Between(func(w *world.World) { slow.Stop() }))
	require.NoError(t, <-ended)
}

// TestBetweenEnds leaves what waits to the next Run when the context has ended, and returns when a
// function closes the world, also while Run stands still.
func TestBetweenEnds(t *testing.T) {
	f := newFixture(t, 1, 1)
	ctx, cancel := context.WithCancel(t.Context())
	first, second := f.Between(func(*world.World) { cancel() }), f.Between(func(*world.World) {})
	require.NoError(t, f.Run(ctx))
	require.NoError(t, <-first)
	require.Empty(t, second)
	f.Pause()
	closing := f.Between(func(w *world.World) { w.Close() })
	require.ErrorIs(t, f.Run(t.Context()), world.ErrClosed)
	require.NoError(t, <-second)
	require.NoError(t, <-closing)
}

// TestOnTickOfStep is told of each tick that was made, with an error or without.
func TestOnTickOfStep(t *testing.T) {
	var seen []uint64
	var f *fixture
	f = newFixtureOf(t, world.Options{Shards: 1}, scheduler.Options{OnTick: func(r scheduler.Report) {
		require.Equal(t, r.Tick+1, f.w.Tick())
		require.Positive(t, r.Duration)
		seen = append(seen, r.Tick)
		if r.Tick == 1 {
			panic("of OnTick")
		}
	}})
	f.MustAdd("fail", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			if c.Tick() == 2 {
				panic(errors.New("of a system"))
			}
		}
	})
	f.step(1)
	require.PanicsWithValue(t, "of OnTick", func() { f.step(1) })
	require.Error(t, f.Step(t.Context()))
	f.w.Close()
	require.Error(t, f.Step(t.Context()))
	require.Equal(t, []uint64{0, 1, 2}, seen)
}
