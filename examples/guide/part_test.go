package guide_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestPart has ships at all sorts of places: they are created, by the World and a Port, and Border
// moves those that come there.
func TestPart(t *testing.T) {
	w, ships := newSea()
	last := w.Shards() - 1
	ships.PlaceBy(func(s Ship) int { return part(s.Position.X, w.Shards()) })
	s := scheduler.New(w, scheduler.Options{})
	s.MustAdd("border", Border)
	port, err := w.OpenPort()
	require.NoError(t, err)
	for x, want := range map[float64]int{
		-1: 0, -100: 0, -250: 0, -1e300: 0, math.Inf(-1): 0, math.Copysign(0, -1): 0, 5e-324: 0, 99.9: 0,
		100: min(1, last), 1e9: last, 1e19: last, math.MaxFloat64: last, math.Inf(1): last, math.NaN(): 0,
	} {
		at := Ship{Position: Position{X: x}}
		for _, by := range []world.Actor{w, port} {
			h, err := ships.Create(by, at)
			require.NoError(t, err, "%v", x)
			require.NoError(t, s.Step(context.Background()), "%v", x)
			shard, ok := w.Owner(h)
			require.True(t, ok)
			require.Equal(t, want, shard, "%v", x)
			for _, from := range []float64{50, 1e6} {
				world.Write[Position](w).Get(h).X = from
				require.NoError(t, s.Step(context.Background()))
				*world.Write[Position](w).Get(h) = at.Position
				require.NoError(t, s.Step(context.Background()))
				shard, _ = w.Owner(h)
				require.Equal(t, want, shard, "%v from %v", x, from)
			}
		}
	}
	require.Greater(t, last, 0)
}
