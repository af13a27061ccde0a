package near_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/near"
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
