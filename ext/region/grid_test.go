package region_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/region"
	"github.com/atoll-sim/atoll/world"
)

func TestDivide(t *testing.T) {
	for shards, want := range map[int][2]int{
		1: {1, 1}, 2: {2, 1}, 3: {3, 1}, 4: {2, 2}, 6: {3, 2}, 7: {7, 1}, 12: {4, 3}, 16: {4, 4}, 64: {8, 8}, 4095: {65, 63},
	} {
		columns, rows := region.Divide(shards)
		require.Equal(t, want, [2]int{columns, rows}, "%d shards", shards)
	}
}

func TestBadOptions(t *testing.T) {
	w := world.MustNew(world.Options{Shards: 6})
	world.Register[Position](w, "position")
	good := region.Options{Width: 10, Height: 10}
	for want, change := range map[string]func(o *region.Options){
		"region: Width is 0, want more than 0":                                       func(o *region.Options) { o.Width = 0 },
		"region: Width is +Inf, want more than 0":                                    func(o *region.Options) { o.Width = math.Inf(1) },
		"region: Height is -1, want more than 0":                                     func(o *region.Options) { o.Height = -1 },
		"region: X is NaN, want a finite number":                                     func(o *region.Options) { o.X = math.NaN() },
		"region: Y is -Inf, want a finite number":                                    func(o *region.Options) { o.Y = math.Inf(-1) },
		"region: Margin is -1, want more than 0, or 0 for a sixteenth of a region":   func(o *region.Options) { o.Margin = -1 },
		"region: Limit is -1, want 1 or more, or 0 for 4096":                         func(o *region.Options) { o.Limit = -1 },
		"region: there are 7 columns and 1 rows, want 1 or more of each, together":   func(o *region.Options) { o.Columns, o.Rows = 7, 1 },
		"region: there are 3 columns and 3 rows":                                     func(o *region.Options) { o.Columns, o.Rows = 3, 3 },
		"region: there are 2 columns and 0 rows":                                     func(o *region.Options) { o.Columns = 2 },
		"region: there are -2 columns and -1 rows":                                   func(o *region.Options) { o.Columns, o.Rows = -2, -1 },
		"region: there are 1073741824 columns and 4 rows, want 1 or more":            func(o *region.Options) { o.Columns, o.Rows = 1<<30, 4 },
		"no more regions than the 6 shards, or 0 of both for as many\nregion: Limit": func(o *region.Options) { o.Rows, o.Limit = 1, -5 },
	} {
		o := good
		change(&o)
		_, err := region.New(w, Position.coordinates, o)
		require.ErrorContains(t, err, want)
	}
	_, err := region.New(w, Position.coordinates, good)
	require.NoError(t, err)
	require.PanicsWithValue(t, "region: New needs a world and a function that tells the coordinates of a position", func() {
		_, _ = region.New[Position](w, nil, good)
	})
}

// naive finds the region of a position by looking at each.
func naive(g *region.Grid[Position], p Position) int {
	o := g.Options()
	x := min(max(p.X, o.X), math.Nextafter(o.X+o.Width, o.X))
	y := min(max(p.Y, o.Y), math.Nextafter(o.Y+o.Height, o.Y))
	sideX, sideY := g.Side()
	for i := range g.Regions() {
		left, bottom := g.Corner(i)
		if x >= left && x < left+sideX && y >= bottom && y < bottom+sideY {
			return i
		}
	}
	panic("in no region")
}

// TestShard compares with looking at each region. Sides are powers of two, so
// that both ways to find the border round alike.
func TestShard(t *testing.T) {
	r := newRand(t, 1)
	for shards := range 40 {
		w := world.MustNew(world.Options{Shards: shards + 1})
		world.Register[Position](w, "position")
		columns, rows := region.Divide(shards + 1)
		if shards%3 == 0 {
			rows = 1
		}
		g, err := region.New(w, Position.coordinates, region.Options{
			X: -64, Y: 32, Width: 16 * float64(columns), Height: 8 * float64(rows), Columns: columns, Rows: rows,
		})
		require.NoError(t, err)
		require.Equal(t, columns*rows, g.Regions())
		for range iterations(1000) {
			p := Position{math.Floor(r.Float64()*1000)/2 - 100, math.Floor(r.Float64()*1000)/2 - 100}
			require.Equal(t, naive(g, p), g.Shard(p), "%v", p)
		}
		last := g.Regions() - 1
		require.Zero(t, g.Shard(Position{math.Inf(-1), math.Inf(-1)}))
		require.Equal(t, last, g.Shard(Position{math.Inf(1), math.Inf(1)}))
		require.Equal(t, last, g.Shard(Position{1e300, 1e300}))
		require.Zero(t, g.Shard(Position{math.NaN(), math.NaN()}))
	}
}

func TestNeighbours(t *testing.T) {
	w := world.MustNew(world.Options{Shards: 13})
	world.Register[Position](w, "position")
	g, err := region.New(w, Position.coordinates, region.Options{Width: 1, Height: 1, Columns: 4, Rows: 3})
	require.NoError(t, err)
	for shard, want := range map[int][]int{
		0: {1, 4, 5}, 3: {2, 6, 7}, 5: {0, 1, 2, 4, 6, 8, 9, 10}, 8: {4, 5, 9}, 11: {6, 7, 10}, 12: nil,
	} {
		require.Equal(t, want, g.AppendNeighbours(nil, shard), "of %d", shard)
	}
	require.Equal(t, []int{99, 1, 4, 5}, g.AppendNeighbours([]int{99}, 0))
}
