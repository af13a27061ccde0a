package region_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/region"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// The components and bundles of the tests.
type (
	Position struct{ X, Y float64 }
	Walker   struct{ Position }
)

func (p Position) coordinates() (x, y float64) { return p.X, p.Y }

// fixture is a world of walkers, partitioned by space.
type fixture struct {
	*scheduler.Scheduler
	w       *world.World
	grid    *region.Grid[Position]
	walkers *world.Bundle[Walker]
	t       testing.TB
}

// newFixture makes one whose systems are walk, run first, and that of the grid.
func newFixture(t testing.TB, wo world.Options, o region.Options, workers int, walk func(c *world.Context, p *Position)) *fixture {
	t.Helper()
	w, err := world.New(wo)
	require.NoError(t, err)
	world.Register[Position](w, "position")
	grid, err := region.New(w, Position.coordinates, o)
	require.NoError(t, err)
	f := &fixture{t: t, w: w, grid: grid, Scheduler: scheduler.New(w, scheduler.Options{Workers: workers})}
	f.walkers = world.NewBundle[Walker](w).PlaceBy(func(x Walker) int { return grid.Shard(x.Position) })
	f.MustAdd("walk", func(b *world.Build) func(*world.Context) {
		pos := world.Write[Position](b)
		all := b.Query(pos)
		return func(c *world.Context) {
			for ch := range all.Chunks() {
				for i := range pos.Slice(ch) {
					walk(c, &pos.Slice(ch)[i])
				}
			}
		}
	})
	f.MustAdd("cross", grid.System, scheduler.In(scheduler.PostUpdate))
	return f
}

// populate creates walkers at random in the area.
func (f *fixture) populate(n int, r *rand.Rand) {
	f.t.Helper()
	o := f.grid.Options()
	for range n {
		_, err := f.walkers.Create(f.w, Walker{Position{o.X + r.Float64()*o.Width, o.Y + r.Float64()*o.Height}})
		require.NoError(f.t, err)
	}
}

func (f *fixture) step(n int) {
	f.t.Helper()
	for range n {
		require.NoError(f.t, f.Step(f.t.Context()))
	}
}

// wobble moves by up to reach each way.
func wobble(reach float64) func(*world.Context, *Position) {
	return func(c *world.Context, p *Position) {
		p.X += (c.Rand().Float64()*2 - 1) * reach
		p.Y += (c.Rand().Float64()*2 - 1) * reach
	}
}

// iterations is n, or less where that takes long.
func iterations(n int) int {
	switch {
	case check.Enabled: // also under -short: most of it is shown to the race detector
		return max(1, n/5)
	case testing.Short():
		return max(1, n/20)
	}
	return n
}

// newRand returns random numbers that are the same for the same seed, and says
// which seed in case the test fails.
func newRand(t testing.TB, seed uint64) *rand.Rand {
	t.Helper()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}
