package state_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

// workers returns a extend.Parallel of n goroutines.
func workers(n int) extend.Parallel {
	return func(count int, f func(int)) {
		var next atomic.Int32
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				for i := int(next.Add(1)) - 1; i < count; i = int(next.Add(1)) - 1 {
					f(i)
				}
			})
		}
		wg.Wait()
	}
}

// TestFlagsOfMovers flags entities and moves them in the same refresh, by request and to
// level shards, while their tables grow and small chunks are coalesced. What anybody reads
// by handle must be what a map says, and all must be equal for any number of workers.
func TestFlagsOfMovers(t *testing.T) {
	rounds, ticks := 10, 25
	switch {
	case check.Enabled:
		rounds, ticks = 1, 16
	case testing.Short():
		rounds = 3
	}
	for seed := range uint64(rounds) {
		want := flagMovers(t, seed, ticks, 1)
		for _, n := range []int{2, 5} {
			require.Equal(t, want, flagMovers(t, seed, ticks, n), "seed %d, %d workers", seed, n)
		}
	}
}

// flagMovers returns the state hash after each tick.
func flagMovers(t *testing.T, seed uint64, ticks, n int) (hashes []state.Hash) {
	const shards, each = 16, 600
	f := newFixture(t, world.Options{Shards: shards, Seed: seed})
	r := rand.New(rand.NewPCG(seed, 0))
	p := f.port()
	parallel := workers(n)
	want := map[handle.Handle]world.Flags{}
	var alive []handle.Handle
	systems := make([]func(*world.Context), shards)
	access := make([]*extend.Access, shards)
	for i := range systems { // what the next tick does depends on published flags
		b := (*world.Build)(engine.Of(f.World).NewBuild(i, "look"))
		body, points := world.Read[Body](b), world.Write[Points](b)
		all := b.Query(body, points)
		systems[i] = func(c *world.Context) {
			for ch := range all.Chunks() {
				x, n := body.Slice(ch), points.Slice(ch)
				for k := range x {
					n[k].N = n[k].N*31 + int64(world.FlagsOf(c, x[k].Target))
				}
			}
		}
		access[i] = (*engine.Build)(b).Finish()
	}
	for tick := range ticks {
		for i := range each {
			u := Unit{Points: Points{int64(i)}}
			if tick > 0 {
				u.Target = alive[r.IntN(len(alive))]
			}
			h, err := f.unit.Create(p, u)
			require.NoError(t, err)
			alive = append(alive, h)
		}
		for range each {
			h, x := alive[r.IntN(len(alive))], world.Flags(1)<<r.IntN(8)
			if r.IntN(3) > 0 {
				require.NoError(t, world.AddFlags(p, h, x))
				want[h] |= x
			} else {
				require.NoError(t, world.RemoveFlags(p, h, x))
				want[h] &^= x
			}
			if r.IntN(2) == 0 {
				require.NoError(t, world.Move(p, h, r.IntN(shards)))
			}
			if r.IntN(4) == 0 {
				require.NoError(t, f.tag.Add(p, h, Tag{}))
			}
		}
		for range each / 2 {
			i := r.IntN(len(alive))
			require.NoError(t, p.Destroy(alive[i]))
			alive[i] = alive[len(alive)-1]
			alive = alive[:len(alive)-1]
		}
		run := engine.Of(f.World).BeginTick()
		for i, system := range systems {
			c := (*world.Context)(engine.Of(f.World).Context(i))
			(*engine.Context)(c).Acting().Start("look", access[i])
			system(c)
			(*engine.Context)(c).Acting().Stop()
		}
		run.Shift([]extend.Shift{{From: tick % shards, To: (tick + 1) % shards, Entities: 20}})
		run.End(parallel)
		for _, h := range alive {
			if got := world.FlagsOf(f.World, h); got != want[h] {
				require.FailNow(t, "flags", fmt.Sprintf("seed %d, %d workers, tick %d: %v has flags %08b published, want %08b", seed, n, tick, h, got, want[h]))
			}
		}
		hashes = append(hashes, f.hash())
	}
	return hashes
}
