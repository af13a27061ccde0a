package near_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/nearby"
	"github.com/atoll-sim/atoll/world"
)

// quarter returns a quarter of the distance of two points, which every float64 can hold.
func quarter(p, q near.Point) float64 {
	return math.Hypot(math.Hypot(p.X/4-q.X/4, p.Y/4-q.Y/4), p.Z/4-q.Z/4)
}

// few is more than what rounding changes.
const few = 1 + 1e-12

// TestFar has entities whose squared distances are too large for a float64: what is found, and in
// which order, is by their distances all the same.
func TestFar(t *testing.T) {
	r := newRand(t, 1)
	g := newGame(t, world.Options{Shards: 4}, 1, space, nil)
	view, err := g.NewView(g.index)
	require.NoError(t, err)
	coordinate := func() float64 {
		return (2*r.Float64() - 1) * math.Pow(10, []float64{0, 2, 150, 154, 155, 160, 300, 308}[r.IntN(8)])
	}
	point := func() near.Point { return near.Point{X: coordinate(), Y: coordinate(), Z: coordinate()} }
	at := map[handle.Handle]near.Point{}
	for i := range 400 {
		if i == 300 {
			g.Refresh() // some are in the base of the index, and some beside it
		}
		p := point()
		at[g.unit(p.X, p.Y, p.Z)] = p
	}
	f, err := view.Now()
	require.NoError(t, err)
	defer f.Release()
	read := g.index.Read(f)
	far := 0
	for range 150 {
		c, radius := point(), math.Abs(coordinate())
		if r.IntN(10) == 0 {
			radius = math.Inf(1)
		}
		// mustBe holds the hits against the entities within the radius, or the k nearest of them.
		mustBe := func(hits []handle.Handle, k int, ordered bool) {
			t.Helper()
			found, last, farthest := map[handle.Handle]bool{}, 0.0, 0.0
			for _, h := range hits {
				d := quarter(c, at[h])
				require.LessOrEqual(t, d, radius/4*few)
				require.True(t, !ordered || d*few >= last, "%v after %v", d, last)
				last, farthest = d, max(farthest, d)
				require.False(t, found[h])
				found[h] = true
			}
			require.LessOrEqual(t, len(hits), k)
			for h, p := range at {
				if d := quarter(c, p); !found[h] && d*few < radius/4 {
					require.Len(t, hits, k, "%v is missing", p)
					require.GreaterOrEqual(t, d*few, farthest, "%v is missing", p)
				}
			}
		}
		all := len(at)
		mustBe(handles(read.AppendWithin(nil, c, radius)), all, false)
		for _, k := range []int{1, 7, all} {
			mustBe(handles(read.AppendNearest(nil, c, k, radius)), k, true)
		}
		mustBe(handles(read.AppendAlong(nil, c, c, radius)), all, true) // without a length it is a ball
		inner := radius * r.Float64()
		var seen []handle.Handle
		for _, h := range nearby.Of(read).Within(nil, c.X, c.Y, c.Z, inner, max(0, radius-inner)) {
			seen = append(seen, h.Handle)
			if d := quarter(c, at[h.Handle]); math.IsInf(h.Distance2, 1) {
				require.GreaterOrEqual(t, d*few, inner/4)
				far++
			} else if math.IsInf(inner*inner, 1) {
				require.LessOrEqual(t, d, inner/4*few)
			}
		}
		if !math.IsInf(radius, 1) {
			mustBe(seen, all, false)
		}
	}
	require.NotZero(t, far)
}

// TestFarLine shoots along lines as long as a float64 can tell.
func TestFarLine(t *testing.T) {
	g := newGame(t, world.Options{Shards: 4}, 1, space, nil)
	on, beside, off, behind := g.unit(1e200, 0, 0), g.unit(5e199, 0.9e160, 0), g.unit(5e199, 1.1e160, 0), g.unit(-1.1e160, 0, 0)
	near0 := g.unit(1e158, 0, 0)
	g.Refresh()
	read := g.index.Read(g.World)
	hits := handles(read.AppendAlong(nil, near.Point{}, near.Point{X: 1e200}, 1e160))
	require.Equal(t, []handle.Handle{near0, beside, on}, hits)
	all := handles(read.AppendAlong(nil, near.Point{}, near.Point{X: 1e200}, math.Inf(1)))
	require.Equal(t, []handle.Handle{near0, behind, beside, off, on}, all[:5])
}

// TestNoNumbers asks about what is no number: nothing is found.
func TestNoNumbers(t *testing.T) {
	g := newGame(t, world.Options{Shards: 4}, 1, space, nil)
	g.unit(1, 1, 0)
	g.unit(math.NaN(), 1, 0)
	g.unit(math.Inf(-1), 1, 0)
	g.Refresh()
	read := g.index.Read(g.World)
	require.Len(t, read.AppendBox(nil, near.Point{X: math.Inf(-1), Y: math.Inf(-1), Z: math.Inf(-1)}, near.Point{X: math.Inf(1), Y: math.Inf(1), Z: math.Inf(1)}), 1)
	require.Len(t, read.AppendWithin(nil, near.Point{}, math.Inf(1)), 1)
	require.Len(t, read.AppendNearest(nil, near.Point{}, 5, math.Inf(1)), 1)
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, p := range []near.Point{{X: bad}, {Y: bad}, {Z: bad}} {
			for _, radius := range []float64{0, 10, 1e200, math.Inf(1)} {
				require.Empty(t, read.AppendWithin(nil, p, radius))
				require.Empty(t, read.AppendNearest(nil, p, 5, radius))
				require.Empty(t, read.AppendAlong(nil, p, near.Point{}, radius))
				require.Empty(t, read.AppendAlong(nil, near.Point{}, p, radius))
			}
		}
		if !(bad > 0) {
			require.Empty(t, read.AppendWithin(nil, near.Point{}, bad))
			require.Empty(t, read.AppendNearest(nil, near.Point{}, 5, bad))
			require.Empty(t, read.AppendAlong(nil, near.Point{}, near.Point{X: 1}, bad))
		}
		if math.IsNaN(bad) {
			require.Empty(t, read.AppendBox(nil, near.Point{X: bad}, near.Point{X: 5, Y: 5, Z: 5}))
			require.Empty(t, read.AppendBox(nil, near.Point{}, near.Point{X: bad, Y: 5, Z: 5}))
		}
	}
}
