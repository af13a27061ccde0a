package region_test

import (
	"fmt"
	"hash/fnv"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/region"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/allocs"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestRandomWalk lets walkers go anywhere and compares after each tick the shard
// of each with a naive model: who is farther than the margin from its region is
// in that of its position, everybody else where it was.
func TestRandomWalk(t *testing.T) {
	for seed := range uint64(iterations(20)) {
		r := newRand(t, seed)
		o := region.Options{X: -512, Y: 256, Width: 1024, Height: 512, Margin: float64(r.IntN(3)*20 + 1)}
		f := newFixture(t, world.Options{Shards: 1 << r.IntN(6), Seed: seed}, o, 1+r.IntN(4), wobble(200))
		f.populate(300, r)
		pos := world.Read[Position](f.w)
		all := f.w.Query(pos)
		owners := map[handle.Handle]int{}
		for ch := range all.Chunks() {
			for i, h := range ch.Handles() {
				owners[h], _ = f.w.Owner(h)
				require.Equal(t, naive(f.grid, pos.Slice(ch)[i]), owners[h])
			}
		}
		for range 20 {
			f.step(1)
			for h, was := range owners {
				if p := *pos.Get(h); distance(f.grid, was, p) > o.Margin {
					owners[h] = naive(f.grid, p)
				}
				owner, ok := f.w.Owner(h)
				require.True(t, ok)
				require.Equal(t, owners[h], owner, "%v at %v, which was in %d", h, *pos.Get(h), was)
			}
		}
	}
}

// distance returns how far a position is from a region, the larger of both ways;
// what is outside of the area counts as at its edge.
func distance(g *region.Grid[Position], shard int, p Position) float64 {
	o := g.Options()
	sideX, sideY := g.Side()
	left, bottom := g.Corner(shard)
	x, y := min(max(p.X, o.X), o.X+o.Width), min(max(p.Y, o.Y), o.Y+o.Height)
	return max(left-x, x-left-sideX, bottom-y, y-bottom-sideY)
}

// TestMargin walks to and fro over a border.
func TestMargin(t *testing.T) {
	at := 0.0
	f := newFixture(t, world.Options{Shards: 2}, region.Options{Width: 20, Height: 10, Margin: 2}, 1, func(_ *world.Context, p *Position) { p.X = at })
	h, err := f.walkers.Create(f.w, Walker{})
	require.NoError(t, err)
	for _, step := range []struct {
		x     float64
		owner int
	}{{9, 0}, {11.9, 0}, {12, 1}, {9, 1}, {11, 1}, {8, 1}, {7.9, 0}, {-50, 0}, {50, 1}, {math.NaN(), 1}, {0, 0}} {
		at = step.x
		f.step(1)
		owner, _ := f.w.Owner(h)
		require.Equal(t, step.owner, owner, "at %v", at)
	}
}

// TestLimit lets many cross at once: so many go in a tick, and all in the end.
// Shards beyond the regions are left, and the dying stay.
func TestLimit(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 3}, region.Options{Width: 2, Height: 1, Columns: 2, Rows: 1, Limit: 30}, 2, func(*world.Context, *Position) {})
	f.walkers.PlaceBy(func(Walker) int { return 2 })
	var all []handle.Handle
	for i := range 100 {
		h, err := f.walkers.Create(f.w, Walker{Position{float64(i % 2), 0}})
		require.NoError(t, err)
		all = append(all, h)
	}
	var stats world.Stats
	for _, want := range []uint64{30, 60, 90, 100, 100} {
		f.step(1)
		f.w.Stats(&stats)
		require.Equal(t, want, stats.Moved)
	}
	for i, h := range all {
		owner, _ := f.w.Owner(h)
		require.Equal(t, i%2, owner)
	}
	for _, h := range all {
		require.NoError(t, world.Move(f.w, h, 2))
		f.w.Destroy(h)
	}
	f.step(1)
	f.w.Stats(&stats)
	require.EqualValues(t, 200, stats.Moved, "by the test alone")
	require.Zero(t, stats.Gone)
	require.Zero(t, stats.Entities)
}

// TestFullOutbox has more to move than requests fit: they are made again.
func TestFullOutbox(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2, OutboxRequests: 8}, region.Options{Width: 2, Height: 1}, 1, func(_ *world.Context, p *Position) { p.X = 1.5 })
	for range 20 {
		_, err := f.walkers.Create(f.w, Walker{})
		require.NoError(t, err)
	}
	f.step(3)
	var stats world.Stats
	f.w.Stats(&stats)
	require.EqualValues(t, 20, stats.Moved)
	require.EqualValues(t, 2, stats.Rejected)
}

func TestDeterministic(t *testing.T) {
	digest := func(workers int) (sum uint64, moved uint64) {
		f := newFixture(t, world.Options{Shards: 9, Seed: 5}, region.Options{Width: 300, Height: 300, Limit: 40}, workers, wobble(20))
		f.populate(5000, newRand(t, 3))
		f.step(iterations(100))
		hash := fnv.New64a()
		pos := world.Read[Position](f.w)
		for ch := range f.w.Query(pos).Chunks() {
			_, _ = fmt.Fprintln(hash, ch.Handles(), pos.Slice(ch))
		}
		var stats world.Stats
		f.w.Stats(&stats)
		stats.Steps = nil // times
		_, _ = fmt.Fprintln(hash, stats)
		return hash.Sum64(), stats.Moved
	}
	want, moved := digest(1)
	require.NotZero(t, moved)
	for _, workers := range []int{2, 3, 8} {
		got, _ := digest(workers)
		require.Equal(t, want, got, "%d workers", workers)
	}
}

// TestConcurrentCreates has ports create by region while ticks run.
func TestConcurrentCreates(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 4}, region.Options{Width: 100, Height: 100}, 2, wobble(5))
	n := iterations(2000)
	var ports sync.WaitGroup
	made := make([][]handle.Handle, 3)
	for i := range made {
		p, err := f.w.OpenPort()
		require.NoError(t, err)
		ports.Go(func() {
			for k := range n {
				h, err := f.walkers.Create(p, Walker{Position{float64(k % 100), float64(i * 30)}})
				if err == nil {
					made[i] = append(made[i], h)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { ports.Wait(); close(done) }()
	for going := true; going; {
		select {
		case <-done:
			going = false
		default:
		}
		f.step(1)
	}
	f.step(10)
	pos := world.Read[Position](f.w)
	for _, all := range made {
		for _, h := range all {
			owner, ok := f.w.Owner(h)
			require.True(t, ok)
			require.LessOrEqual(t, distance(f.grid, owner, *pos.Get(h)), f.grid.Options().Margin)
		}
	}
}

func TestSystemIsNotGlobal(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2}, region.Options{Width: 2, Height: 1}, 1, nil)
	require.PanicsWithValue(t, "scheduler: the constructor of system \"global\" panicked: region: Grid.System is to run on each shard; add it without scheduler.Global", func() {
		f.MustAdd("global", f.grid.System, scheduler.Global())
	})
}

func TestAllocatesNothing(t *testing.T) {
	if check.Enabled {
		t.Skip("the check build moves at each refresh what was handed out")
	}
	f := newFixture(t, world.Options{Shards: 4}, region.Options{Width: 100, Height: 100}, 1, wobble(20))
	f.populate(2000, newRand(t, 1))
	f.step(300)
	require.Less(t, allocs.Least(1, func() { f.step(100) }), 20.0)
}

// BenchmarkStay is what the system costs for entities that stay where they are.
func BenchmarkStay(b *testing.B) {
	const n = 1 << 18
	f := newFixture(b, world.Options{}, region.Options{Width: 100, Height: 100}, 1, nil)
	f.populate(n, newRand(b, 1))
	require.NoError(b, f.Disable("walk"))
	ctx := b.Context()
	for b.Loop() {
		if err := f.Step(ctx); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/entity")
}
