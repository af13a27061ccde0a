package scheduler_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestWorkersTakeFromEachOther keeps the workers of all shards but two busy until
// the other one has run them all, whichever shards were given to whom, after
// ticks that were over before anybody was called.
func TestWorkersTakeFromEachOther(t *testing.T) {
	const shards = 16
	f := newFixture(t, shards, 4)
	var left atomic.Int32
	var hold atomic.Bool
	f.MustAdd("run", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			left.Add(-1)
			if !hold.Load() || c.Shard()%5 > 0 || c.Shard() == 0 {
				return
			}
			for began := time.Now(); left.Load() > 0; time.Sleep(time.Microsecond) { // 5, 10 and 15
				if time.Since(began) > time.Minute {
					panic("nobody takes the others' shards")
				}
			}
		}
	})
	f.MustAdd("another", idle, scheduler.Disabled())
	for range iterations(50) {
		hold.Store(false)
		f.step(3)
		left.Store(shards)
		hold.Store(true)
		require.NoError(t, f.Enable("another")) // so that the next tick is not like the last
		f.step(1)
		require.NoError(t, f.Disable("another"))
	}
}

// TestWorkersAreCalled has a tick take long that was short before: the others are
// called when the first shard has shown it.
func TestWorkersAreCalled(t *testing.T) {
	f := newFixture(t, 8, 2)
	var alone, together atomic.Int32
	meet := make(chan struct{})
	f.MustAdd("run", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			if c.Tick() < 3 {
				return
			}
			if alone.Add(1) == 1 {
				time.Sleep(time.Millisecond)
				return
			}
			select {
			case meet <- struct{}{}:
			case <-meet:
				together.Add(1)
			case <-time.After(time.Second):
			}
		}
	})
	f.step(4)
	require.Positive(t, together.Load(), "two shards ran at the same time")
}

// TestCostliestFirst measures that one shard costs more than others, and from
// then on begins with it.
func TestCostliestFirst(t *testing.T) {
	f := newFixture(t, 8, 1)
	var began []int
	dear := 5
	f.MustAdd("run", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			began = append(began, c.Shard())
			if c.Shard() == dear {
				time.Sleep(100 * time.Microsecond)
			}
		}
	})
	last := func() []int { return began[len(began)-8:] }
	f.step(40)
	require.Equal(t, 5, last()[0])
	require.ElementsMatch(t, []int{0, 1, 2, 3, 4, 5, 6, 7}, last())
	dear = 2
	f.step(40)
	require.Equal(t, 2, last()[0])
}
