package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// spoken is a value and when it was put.
type spoken struct {
	world.Moment
	Text string
}

// speaking adds systems that put values, and returns the output.
func (f *fixture) speaking() *world.Output[string] {
	o := world.RegisterOutput[string](f.w, "says")
	f.MustAdd("first", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			pause()
			require.NoError(f.t, o.Put(c, fmt.Sprint("first ", c.Shard())))
		}
	})
	f.MustAdd("second", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			for range c.Shard() + 1 {
				require.NoError(f.t, o.Put(c, fmt.Sprint("second ", c.Shard())))
			}
		}
	})
	f.MustAdd("global", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) { require.NoError(f.t, o.Put(c, fmt.Sprint("global ", c.Tick()))) }
	}, scheduler.Global())
	return o
}

// TestOutputWorkers gets the same values in the same order with any number of workers.
func TestOutputWorkers(t *testing.T) {
	var want []spoken
	for _, workers := range []int{1, 2, 5} {
		f := newFixture(t, 5, workers)
		var got []spoken
		f.speaking().Handle(func(at world.Moment, v string) {
			require.True(t, f.w.Tick() == at.Tick+1 && f.w.Count() == 0, "the world is idle")
			got = append(got, spoken{at, v})
		})
		f.step(iterations(20))
		if want == nil {
			want = got
		}
		require.Len(t, got, iterations(20)*(5+15+1))
		require.Equal(t, want, got)
	}
}

// TestOutputPanics has a handler panic: the error of Step has it beside that of a system, the next
// values come, and Run goes on unless IfPanics says otherwise.
func TestOutputPanics(t *testing.T) {
	for _, policy := range []scheduler.PanicPolicy{scheduler.DisableSystem, scheduler.StopRun} {
		f := newFixtureOf(t, world.Options{Shards: 2, TickInterval: time.Millisecond}, scheduler.Options{IfPanics: policy})
		handled, cause := 0, errors.New("the socket is closed")
		f.speaking().Handle(func(_ world.Moment, v string) {
			if handled++; v == "first 0" {
				panic(cause)
			}
		})
		err := f.Step(t.Context())
		require.ErrorIs(t, err, cause)
		var failure *world.PanicError
		require.ErrorAs(t, err, &failure)
		require.Equal(t, "handler of output", failure.In)
		require.Equal(t, "says", failure.Name)
		require.Equal(t, world.AllShards, failure.Shard)
		require.Equal(t, 6, handled)
		var stats scheduler.Stats
		f.Stats(&stats)
		require.EqualValues(t, 1, stats.Panics)
		require.NoError(t, f.w.Err())

		until := f.w.Tick() + 5
		ctx, end := context.WithCancel(t.Context())
		f.MustAdd("ends", func(*world.Build) func(*world.Context) {
			return func(c *world.Context) {
				if c.Tick() == until {
					end()
				}
			}
		})
		err = f.Run(ctx)
		end()
		if policy == scheduler.StopRun {
			require.ErrorIs(t, err, cause)
			require.EqualValues(t, 2, f.w.Tick())
		} else {
			require.NoError(t, err)
			require.Greater(t, f.w.Tick(), until)
		}
	}
}

// TestOutputAndSystemPanic has both in one error.
func TestOutputAndSystemPanic(t *testing.T) {
	f := newFixture(t, 2, 2)
	one, two := errors.New("one"), errors.New("two")
	o := f.speaking()
	f.MustAdd("panics", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			_ = o.Put(c, "before the panic")
			panic(one)
		}
	})
	kept := 0
	o.Handle(func(_ world.Moment, v string) {
		if v == "before the panic" {
			kept++
			panic(two)
		}
	})
	err := f.Step(t.Context())
	require.ErrorIs(t, err, one)
	require.ErrorIs(t, err, two)
	require.Equal(t, 2, kept)
}

// TestOutputExits ends the goroutine of Step in a handler: the tick is complete, and the next one
// handles the rest.
func TestOutputExits(t *testing.T) {
	f := newFixture(t, 2, 2)
	var all []world.Moment
	f.speaking().Handle(func(at world.Moment, v string) {
		if all = append(all, at); len(all) == 2 {
			runtime.Goexit()
		}
	})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = f.Step(t.Context())
	}()
	<-ended
	require.Len(t, all, 2)
	require.EqualValues(t, 1, f.w.Tick())
	f.step(1)
	require.Len(t, all, 12)
	for i, at := range all {
		require.Equal(t, world.Moment{Incarnation: 1, Tick: uint64(i / 6), N: uint32(i % 6)}, at)
	}
}

// TestOutputTicks lets a handler make a tick, which it must not, and ask for functions between
// ticks, which come before the next one.
func TestOutputTicks(t *testing.T) {
	f := newFixtureOf(t, world.Options{Shards: 1}, scheduler.Options{OnTick: func(scheduler.Report) {}})
	var between <-chan error
	f.speaking().Handle(func(at world.Moment, _ string) {
		if at == (world.Moment{Incarnation: 1}) {
			between = f.Between(func(*world.World) {})
			_ = f.Step(context.Background())
		}
	})
	err := f.Step(t.Context())
	require.ErrorContains(t, err, "a world has one tick at a time")
	require.Empty(t, between)
	_ = f.Step(t.Context())
	require.NoError(t, <-between)
}

// TestOutputPaused handles nothing while Run stands still, also what is put then.
func TestOutputPaused(t *testing.T) {
	f := newFixtureOf(t, world.Options{Shards: 1}, scheduler.Options{})
	o := f.speaking()
	got := make(chan spoken, 100)
	o.Handle(func(at world.Moment, v string) { got <- spoken{at, v} })
	f.Pause()
	ran := make(chan error, 1)
	go func() { ran <- f.Run(context.Background()) }()
	require.NoError(t, <-f.Between(func(w *world.World) { require.NoError(t, o.Put(w, "between")) }))
	require.NoError(t, <-f.Between(func(w *world.World) {}))
	require.Empty(t, got)
	require.True(t, f.StepOnce())
	require.Equal(t, spoken{world.Moment{Incarnation: 1}, "between"}, <-got)
	f.Stop()
	require.NoError(t, <-ran)
}

// TestOutputTime counts the time of handlers for the next tick.
func TestOutputTime(t *testing.T) {
	f := newFixture(t, 1, 1)
	const takes = 3 * time.Millisecond
	f.speaking().Handle(func(_ world.Moment, v string) {
		if v == "first 0" {
			time.Sleep(takes)
		}
	})
	f.step(2)
	var stats scheduler.Stats
	f.Stats(&stats)
	require.GreaterOrEqual(t, stats.Between.Sum(), takes)
}

// TestOutputCloses closes the world in a handler: that is the end of Run, and of what waits.
func TestOutputCloses(t *testing.T) {
	f := newFixtureOf(t, world.Options{Shards: 2, TickInterval: time.Millisecond}, scheduler.Options{Workers: 2})
	handled := 0
	f.speaking().Handle(func(world.Moment, string) {
		handled++
		f.w.Close()
	})
	require.ErrorIs(t, f.Run(t.Context()), world.ErrClosed)
	require.Equal(t, 1, handled)
}
