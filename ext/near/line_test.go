package near_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/world"
)

// lines is a world of some entities near two places, and asks for what is along a line.
func lines(t *testing.T) (a, b, c handle.Handle, along func(from, to near.Point) []handle.Handle) {
	g := newGame(t, world.Options{}, 1, space, nil)
	a, b, c = g.unit(0, 0, 0), g.unit(0.5, 0.5, 0), g.unit(30, 30, 0)
	g.unit(-2, -2, 0)
	g.unit(30, 33, 0)
	r := g.index.Read(g.World)
	return a, b, c, func(from, to near.Point) []handle.Handle { return handles(r.AppendAlong(nil, from, to, 1)) }
}

// TestLong asks for what is along lines so long that the squares of their lengths are infinite.
func TestLong(t *testing.T) {
	a, b, c, along := lines(t)
	for _, l := range []float64{50, 1e10, 1e100, 1e150, 1e153, 1e154, 1e155, 1e200, 1e307, math.MaxFloat64 / 2} {
		require.Equal(t, []handle.Handle{a, b, c}, along(near.Point{}, near.Point{X: l, Y: l}), l)
		require.Equal(t, []handle.Handle{c, b, a}, along(near.Point{X: 40, Y: 40}, near.Point{X: -l / 1e3, Y: -l / 1e3})[:3], l)
		require.Equal(t, []handle.Handle{a, b}, along(near.Point{}, near.Point{X: l}), l)
		require.Equal(t, []handle.Handle{a, b}, along(near.Point{}, near.Point{X: l, Z: l / 1e200}), l)
	}
	require.Empty(t, along(near.Point{X: -math.MaxFloat64}, near.Point{X: math.MaxFloat64}), "the length is infinite")
}

// TestShort asks for what is along lines so short that the squares of their lengths are 0, or
// nearly.
func TestShort(t *testing.T) {
	a, b, c, along := lines(t)
	for _, l := range []float64{1e-3, 1e-100, 1e-150, 1e-154, 1e-155, 1e-158, 1e-161, 1e-162, 1e-200, 1e-307, math.SmallestNonzeroFloat64, 0} {
		for _, to := range []near.Point{{X: l}, {X: -l}, {Y: l}, {Z: l}, {X: l, Y: -l, Z: l}} {
			require.Equal(t, []handle.Handle{a, b}, along(near.Point{}, to), "%v", to)
			require.Equal(t, []handle.Handle{c}, along(near.Point{X: 30, Y: 30}, near.Point{X: 30 + l, Y: 30 + l}), "%v", to)
		}
	}
}

// TestOnTheLine asks for what is exactly on a line along the borders of cells, or exactly a radius
// away, in grids whose borders are rounded.
func TestOnTheLine(t *testing.T) {
	leasts := []float64{-10, -50, -100, -300, -512}
	if check.Enabled && testing.Short() {
		leasts = leasts[:1] // one goroutine does this
	}
	for _, least := range leasts {
		for _, cell := range []float64{0.7, 1.1, 1.3, 3.3, 9.9, 33.3} {
			o := near.Options{Min: near.Point{X: least, Y: least}, Max: near.Point{X: -least, Y: -least}, Cell: cell}
			g := newGame(t, world.Options{Shards: 1}, 1, o, nil)
			var all []float64
			for k := range 200 {
				all = append(all, least+float64(k)*cell, float64(k)*cell+least-cell, float64(k-100)/10)
			}
			at := map[float64][]handle.Handle{}
			for _, y := range all {
				at[y] = append(at[y], g.unit(1, y, 0))
			}
			r := g.index.Read(g.World)
			for _, y := range all {
				for _, radius := range []float64{0, 0.25} {
					off := y + radius
					if off-y > radius {
						continue // it is rounded
					}
					hits := handles(r.AppendAlong(nil, near.Point{X: -3, Y: off}, near.Point{X: 5, Y: off}, radius))
					require.Subset(t, hits, at[y], "from %v, cells of %v: at %v, radius %v", least, cell, y, radius)
				}
			}
		}
	}
}

// TestAnyCells finds the same in cells of any size: all along a line, however many cells it crosses.
func TestAnyCells(t *testing.T) {
	for seed := range uint64(iterations(30)) {
		r := newRand(t, seed)
		size, shift := (1+r.Float64())*[]float64{1, 10, 100, 1e4}[r.IntN(4)], 0.0
		tenths := func(size float64) float64 { return math.Round((2*r.Float64()-1)*size*10) / 10 }
		if r.IntN(2) == 0 {
			shift = tenths(1000)
		}
		point := func() near.Point {
			p := near.Point{X: shift + tenths(size), Y: shift + tenths(size), Z: shift + tenths(size)}
			switch r.IntN(4) {
			case 0:
				p.Y = p.X
			case 1:
				p.Y, p.Z = float64(r.IntN(5)), shift
			}
			return p
		}
		o := near.Options{Min: near.Point{X: shift - size, Y: shift - size, Z: shift - size}, Max: near.Point{X: shift + size, Y: shift + size, Z: shift + size}}
		o.Cell = 2 * size / float64(2+r.IntN(30))
		g := newGame(t, world.Options{}, 1, o, nil)
		o.Cell = 2.5 * size
		one := near.New(g.World, Position.point, o)
		points := make([]near.Point, 150)
		for i := range points {
			points[i] = point()
			g.unit(points[i].X, points[i].Y, points[i].Z)
		}
		fine, coarse := g.index.Read(g.World), one.Read(g.World)
		for range 100 {
			from, to := point(), point()
			if r.IntN(2) == 0 {
				to = points[r.IntN(len(points))]
			}
			for _, radius := range []float64{0, 1, math.Abs(tenths(size))} {
				require.Equal(t, handles(coarse.AppendAlong(nil, from, to, radius)), handles(fine.AppendAlong(nil, from, to, radius)),
					"seed %d: %v to %v, radius %v", seed, from, to, radius)
			}
		}
	}
}
