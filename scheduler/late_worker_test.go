package scheduler

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/world"
)

// held is a scheduler of two workers. The goroutine of the second begins when hold is closed, as on a machine whose
// processors are busy.
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
			time.Sleep(50 * time.Microsecond) // or nobody is called
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

// TestLateWorker makes ticks that do not wait for a worker that has not begun. One goroutine is started for it, which
// takes part in a later tick.
func TestLateWorker(t *testing.T) {
	x := newHeld()
	for range 5 {
		require.NoError(t, x.Step(t.Context()))
	}
	require.Equal(t, int32(1), x.starts.Load())
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

// TestLateWorkerOfAnother has a worker late for one caller, whose goroutine must not run a tick for another one.
func TestLateWorkerOfAnother(t *testing.T) {
	x := newHeld()
	mine, cancel := context.WithCancel(t.Context())
	defer cancel()
	require.NoError(t, x.Step(mine))
	other, cancelOther := context.WithCancel(t.Context())
	defer cancelOther()
	done := make(chan error)
	go func() { done <- x.Step(other) }()
	select {
	case <-done:
		t.Fatal("the tick of another caller began without its worker")
	case <-time.After(20 * time.Millisecond):
	}
	close(x.hold)
	require.NoError(t, <-done)
	require.Equal(t, int32(2), x.starts.Load())
	x.meet(t)
	require.NoError(t, x.Step(other))
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

// TestContextsOfAllKinds makes ticks at once behind each other, for which contexts are compared, with those that cannot be.
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
