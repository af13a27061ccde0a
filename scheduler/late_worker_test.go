package scheduler

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/clock"
	"github.com/atoll-sim/atoll/world"
)

// held is a scheduler of two workers. The goroutine of the second begins when hold is closed, as on
// a machine whose processors are busy.
type held struct {
	*Scheduler
	hold   chan struct{}
	starts atomic.Int32
	ran    func(c *world.Context)
}

func newHeld() *held {
	w := world.MustNew(world.Options{Shards: 4})
	x := &held{Scheduler: New(w, Options{Workers: 2}), hold: make(chan struct{})}
	x.MustAdd("run", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			// Without this nobody is called. In a bubble the clock stands still, where it is no counter.
			began := clock.Now()
			for n := 0; n < 100_000 && x.tick.scale.Duration(clock.Now()-began) < 50*time.Microsecond; n++ {
			}
			x.ran(c)
		}
	})
	x.ran = func(*world.Context) {}
	second := x.tick.workers[1]
	begin := second.start
	second.start = func() {
		x.starts.Add(1)
		<-x.hold
		begin()
	}
	return x
}

// started requires that so many goroutines of the second worker begin.
func (x *held) started(t *testing.T, n int32) {
	require.Eventually(t, func() bool { return x.starts.Load() >= n }, time.Minute, time.Millisecond)
	require.Equal(t, n, x.starts.Load())
}

// meet has one shard wait until another one runs.
func (x *held) meet(t *testing.T) {
	var inside atomic.Int32
	both := make(chan struct{})
	x.ran = func(*world.Context) {
		if inside.Add(1) == 2 {
			close(both)
		}
		select {
		case <-both:
		case <-time.After(time.Minute):
			t.Error("the other worker did not take part")
		}
	}
}

// TestLateWorker makes ticks that do not wait for a worker that has not begun. One goroutine is
// started for it, which takes part in a later tick.
func TestLateWorker(t *testing.T) {
	x := newHeld()
	for range 5 {
		require.NoError(t, x.Step(t.Context()))
	}
	x.started(t, 1)
	require.True(t, x.tick.workers[1].isLate())

	x.meet(t)
	met := x.ran
	x.ran = func(c *world.Context) {
		if c.Shard() == 0 {
			close(x.hold)
		}
		met(c)
	}
	require.NoError(t, x.Step(t.Context()))
	require.Equal(t, int32(1), x.starts.Load())
	x.meet(t)
	require.NoError(t, x.Step(t.Context()))
}

// TestLateWorkerOfAnother has a worker late for one caller. Its goroutine must not run a tick for
// another one, which makes its ticks without that worker until the goroutine has begun, and then
// starts its own.
func TestLateWorkerOfAnother(t *testing.T) {
	x := newHeld()
	mine, cancel := context.WithCancel(t.Context())
	defer cancel()
	require.NoError(t, x.Step(mine))
	other, cancelOther := context.WithCancel(t.Context())
	defer cancelOther()
	for range 3 {
		require.NoError(t, x.Step(other))
	}
	x.started(t, 1)
	close(x.hold)
	for x.tick.workers[1].isLate() {
		time.Sleep(time.Millisecond)
	}
	x.meet(t)
	require.NoError(t, x.Step(other))
	require.Equal(t, int32(2), x.starts.Load())
}

// TestLateWorkerOfBubble has a worker late in a bubble, whose goroutine must not run a tick
// outside, even if the context is the same.
func TestLateWorkerOfBubble(t *testing.T) {
	x := newHeld()
	inside, outside := make(chan bool), make(chan bool)
	var inBubble atomic.Bool
	go func() {
		defer close(outside)
		<-inside
		x.ran = func(c *world.Context) {
			if c.Shard() == 0 {
				close(x.hold)
			}
			inBubble.Store(inBubble.Load() || clock.InBubble())
			time.Sleep(10 * time.Millisecond) // so that it would take part
		}
		// The tick in the bubble took no time where the clock is no counter. After so short a tick
		// the worker would be called behind shard 0, when its goroutine has begun and is gone.
		x.tick.small = false
		assert.NoError(t, x.Step(context.Background()))
	}()
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, x.Step(context.Background()))
		require.True(t, x.tick.workers[1].isLate())
		inside <- true
		<-outside
	})
	require.False(t, inBubble.Load())
	require.Equal(t, int32(1), x.starts.Load())
}

// TestLateWorkerEnds has it begin when nobody calls it any more.
func TestLateWorkerEnds(t *testing.T) {
	x := newHeld()
	require.NoError(t, x.Step(t.Context()))
	close(x.hold)
	for x.tick.workers[1].state.Load()&stateMask != gone {
		time.Sleep(time.Millisecond)
	}
	x.meet(t)
	require.NoError(t, x.Step(t.Context()))
	require.Equal(t, int32(2), x.starts.Load())
}

// TestContextsOfAllKinds makes ticks at once behind each other, for which contexts are compared,
// with those that cannot be.
func TestContextsOfAllKinds(t *testing.T) {
	type list struct {
		context.Context
		all []int
	}
	type wrapped struct{ context.Context }
	for _, ctx := range []context.Context{
		context.Background(), context.TODO(), t.Context(), list{t.Context(), nil}, wrapped{t.Context()}, wrapped{list{t.Context(), []int{1}}}, &list{Context: t.Context()},
	} {
		x := newHeld()
		close(x.hold)
		for range 50 {
			require.NoError(t, x.Step(ctx))
		}
	}
}
