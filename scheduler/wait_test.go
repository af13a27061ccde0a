package scheduler_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// late adds a system that takes long on one shard, once all others have run it, one behind its
// fence, and a global one for which all wait.
func (f *fixture) late(shard int, long time.Duration) {
	var ran atomic.Int32
	f.MustAdd("write", func(b *world.Build) func(*world.Context) {
		world.Write[Value](b)
		return func(c *world.Context) {
			if c.Shard() != shard {
				ran.Add(1)
				return
			}
			for f.Workers() > 1 && int(ran.Load()) < int(c.Tick()+1)*(f.w.Shards()-1) {
				time.Sleep(10 * time.Microsecond)
			}
			time.Sleep(long)
		}
	})
	f.MustAdd("read", func(b *world.Build) func(*world.Context) {
		world.ReadForeign[Value](b)
		return func(*world.Context) {}
	})
	f.MustAdd("all", func(b *world.Build) func(*world.Context) {
		world.Write[Position](b)
		return func(*world.Context) { time.Sleep(long) }
	}, scheduler.Global())
	f.MustAdd("after", func(b *world.Build) func(*world.Context) {
		world.Write[Position](b)
		return func(*world.Context) {}
	})
}

// TestWaits tells who waited for whom: what a shard waited for all others is what it stood before
// systems, and what all waited for it is what it held them up.
func TestWaits(t *testing.T) {
	const long = 4 * time.Millisecond
	for _, workers := range []int{1, 2, 5} {
		f := newFixture(t, 5, workers)
		f.late(1, long)
		f.step(3)
		var s scheduler.Stats
		f.Stats(&s)
		waited, heldUp := map[int]time.Duration{}, map[int]time.Duration{}
		of := map[[2]int]time.Duration{}
		for i, x := range s.Waits {
			require.Positive(t, x.Time)
			require.NotEqual(t, x.Shard, x.For)
			require.NotContains(t, of, [2]int{x.Shard, x.For})
			of[[2]int{x.Shard, x.For}] = x.Time
			if i > 0 && x.Shard != world.AllShards {
				require.GreaterOrEqual(t, x.Shard, s.Waits[i-1].Shard)
			}
			waited[x.Shard] += x.Time
			heldUp[x.For] += x.Time
		}
		for _, x := range s.Systems {
			for k, y := range f.on(x.Name) {
				if x.Global {
					k = world.AllShards
				}
				waited[k] -= y.Waited
				heldUp[k] -= y.HeldUp
			}
		}
		for k := range waited {
			require.InDelta(t, 0, waited[k], 100, "shard %d", k) // each is rounded down
		}
		for k := range heldUp {
			require.InDelta(t, 0, heldUp[k], 100, "shard %d", k)
		}
		if workers > 1 {
			require.Greater(t, of[[2]int{0, 1}], 3*long/4)
			require.Greater(t, of[[2]int{4, world.AllShards}], 3*long/4)
			require.Zero(t, of[[2]int{1, 0}])
		}
		require.Zero(t, testing.AllocsPerRun(10, func() { f.Stats(&s) }))
	}
}

// TestWaitsOfMany tells nothing for a world of too many shards.
func TestWaitsOfMany(t *testing.T) {
	if handle.HomeMax <= scheduler.WaitShardsMax {
		t.Skip("no world has as many shards in this layout of handles")
	}
	f := newFixture(t, scheduler.WaitShardsMax+1, 2)
	f.late(1, time.Millisecond)
	f.step(1)
	var s scheduler.Stats
	f.Stats(&s)
	require.Empty(t, s.Waits)
	require.Positive(t, s.Shards[1].HeldUp)
}
