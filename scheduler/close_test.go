package scheduler_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestClosedWorldIsNotStepped closes a world under its scheduler.
func TestClosedWorldIsNotStepped(t *testing.T) {
	w := world.MustNew(world.Options{})
	s := scheduler.New(w, scheduler.Options{})
	ran := 0
	idle := func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			if c.Shard() == 0 {
				ran++
			}
		}
	}
	s.MustAdd("idle", idle)
	require.NoError(t, s.Step(context.Background()))
	w.Close()
	require.ErrorIs(t, s.Step(context.Background()), world.ErrClosed)
	require.ErrorIs(t, s.Run(context.Background()), world.ErrClosed)
	require.ErrorIs(t, s.Add("late", idle), world.ErrClosed)
	require.Equal(t, 1, ran)
}

// TestRunEndsWhenItsWorldIsClosed closes it between two ticks.
func TestRunEndsWhenItsWorldIsClosed(t *testing.T) {
	w := world.MustNew(world.Options{TickInterval: time.Millisecond})
	s := scheduler.New(w, scheduler.Options{OnTick: func(r scheduler.Report) {
		if r.Tick == 3 {
			w.Close()
		}
	}})
	require.ErrorIs(t, s.Run(t.Context()), world.ErrClosed)
	require.Equal(t, uint64(5), w.Tick(), "four, and the one of Close")
}

// TestNewFromManyGoroutines makes schedulers of a world that is closed meanwhile. What any of them
// was asked to call between ticks gets an answer.
func TestNewFromManyGoroutines(t *testing.T) {
	for range iterations(100) {
		w := world.MustNew(world.Options{})
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				err := scheduler.New(w, scheduler.Options{}).Between(func(*world.World) {})
				<-err
			})
		}
		all.Go(w.Close)
		all.Wait()
	}
}
