package world_test

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// streams starts some systems on all shards and in some ticks, and returns the
// first random numbers of each.
func streams(t *testing.T, seed uint64, systems ...string) (first []uint64) {
	f := newFixture(t, world.Options{Shards: 3, Seed: seed})
	access := engine.Of(f.World).NewBuild(0, "any").Finish()
	for range 4 {
		tick := engine.Of(f.World).BeginTick()
		for _, name := range systems {
			for i := range 4 {
				c := (*world.Context)(engine.Of(f.World).Context(world.AllShards))
				if i < 3 {
					c = (*world.Context)(engine.Of(f.World).Context(i))
				}
				(*engine.Context)(c).Acting().Start(name, access)
				first = append(first, c.Rand().Uint64())
				require.NotEqual(t, first[len(first)-1], c.Rand().Uint64(), "the stream goes on")
				(*engine.Context)(c).Acting().Stop()
			}
		}
		tick.End(serial)
	}
	return first
}

// TestRand gives each system, shard and tick a stream of its own, the same one
// each time, whatever other systems there are.
func TestRand(t *testing.T) {
	a := streams(t, 7, "move", "fight")
	require.Equal(t, a, streams(t, 7, "move", "fight"))
	require.NotEqual(t, a, streams(t, 8, "move", "fight"))
	require.Equal(t, a[4:8], streams(t, 7, "fight")[:4])
	seen := map[uint64]bool{}
	ones := 0
	for seed := range uint64(50) {
		for _, x := range streams(t, seed, "a", "b", "ab", "") {
			require.False(t, seen[x])
			seen[x] = true
			ones += bits.OnesCount64(x)
		}
	}
	require.InEpsilon(t, 32*len(seen), ones, 0.02, "half of the bits, over streams that differ by little")
}

// TestRandAllocatesNothing asks for the first number of many streams.
func TestRandAllocatesNothing(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1})
	access := engine.Of(f.World).NewBuild(0, "any").Finish()
	tick := engine.Of(f.World).BeginTick()
	defer tick.End(serial)
	c := (*world.Context)(engine.Of(f.World).Context(0))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		(*engine.Context)(c).Acting().Start("any", access)
		c.Rand().Float64()
		(*engine.Context)(c).Acting().Stop()
	}))
}

func BenchmarkRand(b *testing.B) {
	f := newFixture(b, world.Options{Shards: 1})
	access := engine.Of(f.World).NewBuild(0, "a system's name").Finish()
	tick := engine.Of(f.World).BeginTick()
	defer tick.End(serial)
	c := (*world.Context)(engine.Of(f.World).Context(0))
	for b.Loop() {
		(*engine.Context)(c).Acting().Start("a system's name", access)
		c.Rand().Uint64()
		(*engine.Context)(c).Acting().Stop()
	}
}
