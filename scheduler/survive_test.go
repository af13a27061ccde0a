package scheduler_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// breaking is an extension that breaks the world when it is told to.
type breaking struct{ now bool }

func (*breaking) Name() string { return "breaking" }

func (*breaking) Begin()                       {}
func (*breaking) Spare(*extend.DyingSet) bool  { return false }
func (*breaking) Spread(*extend.DyingSet, int) {}
func (x *breaking) Settle() {
	if x.now {
		panic(errBroken)
	}
}

// TestHookPanicIsToldOnce breaks the world in the tick after one in which a hook panicked: the
// second error is without the hook's.
func TestHookPanicIsToldOnce(t *testing.T) {
	f := newFixtureOf(t, world.Options{}, scheduler.Options{Workers: 2})
	breaks := new(breaking)
	engine.Of(f.w).Extend(breaks)
	f.w.Observe("bad", world.OnCreate, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
		return func(*world.Context, world.Event, []handle.Handle) { panic("told in tick 0") }
	})
	_, err := f.markers.Create(f.w, Marker{})
	require.NoError(t, err)
	require.ErrorContains(t, f.Step(t.Context()), "told in tick 0")
	breaks.now = true
	err = f.Step(t.Context())
	require.ErrorIs(t, err, world.ErrBroken)
	require.NotContains(t, err.Error(), "told in tick 0")
	var stats scheduler.Stats
	f.Stats(&stats)
	require.EqualValues(t, 2, stats.Panics)
}

// TestMergePanics has the merge of an accumulator panic: all parts are zero in the next tick.
func TestMergePanics(t *testing.T) {
	type sum struct{ N int }
	f := newFixtureOf(t, world.Options{Shards: 4}, scheduler.Options{Workers: 1})
	fails := true
	total := world.RegisterAccumulator(f.w, "sum", func(total, part *sum) {
		if fails && total.N == 2 {
			panic(errBroken)
		}
		total.N += part.N
	})
	f.MustAdd("add", func(b *world.Build) func(*world.Context) {
		part := world.Accumulate[sum](b)
		return func(*world.Context) {
			require.Zero(t, part.N)
			part.N++
		}
	})
	require.ErrorIs(t, f.Step(t.Context()), errBroken)
	fails = false
	f.step(1)
	require.Equal(t, 4, total.Get().N)
}

// TestConditionCloses has a condition close the world.
func TestConditionCloses(t *testing.T) {
	w := world.MustNew(world.Options{})
	s := scheduler.New(w, scheduler.Options{})
	s.MustAdd("x", func(*world.Build) func(*world.Context) { return func(*world.Context) {} },
		scheduler.When(func(w *world.World) bool { w.Close(); return true }))
	require.ErrorIs(t, s.Step(t.Context()), world.ErrClosed)
	require.ErrorIs(t, s.Step(t.Context()), world.ErrClosed)
}

// TestPanicNil has systems panic with nil, for which recover returns nil under this setting, as it
// does for runtime.Goexit.
func TestPanicNil(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	for _, workers := range []int{1, 2, 5} {
		f := newFixtureOf(t, world.Options{Shards: 5}, scheduler.Options{Workers: workers})
		var bad, good [5]atomic.Int32
		f.MustAdd("bad", func(*world.Build) func(*world.Context) {
			return func(c *world.Context) {
				bad[c.Shard()].Add(1)
				time.Sleep(time.Millisecond)
				var nothing any
				panic(nothing)
			}
		})
		f.MustAdd("good", func(*world.Build) func(*world.Context) {
			return func(c *world.Context) {
				time.Sleep(time.Millisecond)
				good[c.Shard()].Add(1)
			}
		})
		for tick := range int32(5) {
			require.Error(t, f.Step(t.Context()))
			for i := range bad {
				require.Equal(t, [2]int32{tick + 1, tick + 1}, [2]int32{bad[i].Load(), good[i].Load()}, "shard %d, %d workers", i, workers)
			}
		}
	}
}
