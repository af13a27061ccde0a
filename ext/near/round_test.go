package near_test

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/nearby"
	"github.com/atoll-sim/atoll/world"
)

// rounded returns a squared distance of which each product and each sum is rounded by itself.
func rounded(p, q near.Point) float64 {
	number := func(x float64) *big.Float { return new(big.Float).SetPrec(53).SetFloat64(x) }
	sum := number(0)
	for _, d := range []float64{p.X - q.X, p.Y - q.Y, p.Z - q.Z} {
		sum.Add(sum, number(0).Mul(number(d), number(d)))
	}
	d, _ := sum.Float64()
	return d
}

// TestRoundsAlike fails where products and sums are fused, as with GOAMD64=v3: distances decide what
// systems see, so they must be the same on every machine.
func TestRoundsAlike(t *testing.T) {
	r := newRand(t, 1)
	g := newGame(t, world.Options{Shards: 4}, 1, space, nil)
	at := map[handle.Handle]near.Point{}
	for range 500 {
		p := place(r)
		at[g.unit(p.X, p.Y, p.Z)] = p.point()
	}
	g.Refresh()
	read := g.index.Read(g.World)
	for range 20 {
		c := place(r).point()
		var all []near.Hit
		all = read.AppendWithin(all, c, 1e4)
		all = read.AppendNearest(all, c, len(at), 1e4)
		all = read.AppendAlong(all, c, near.Point{X: 1}, 1e4)
		for _, h := range nearby.Of(read).Within(nil, c.X, c.Y, c.Z, 1e4, 0) {
			all = append(all, near.Hit{Handle: h.Handle, Distance2: h.Distance2})
		}
		require.Len(t, all, 4*len(at))
		for i, h := range all {
			require.Equal(t, rounded(at[h.Handle], c), h.Distance2, i)
		}
	}
}
