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

// TestNearby compares what package interest reads of an index with AppendWithin: while all entities
// are as when it was computed from all, and when some have moved and died since.
func TestNearby(t *testing.T) {
	r := newRand(t, 1)
	g := newGame(t, world.Options{Shards: 8}, 1, space, nil)
	view, err := g.NewView(g.index)
	require.NoError(t, err)
	var some []handle.Handle // of a shard: if more chunks change, it is computed anew
	for range 4000 {
		p := place(r)
		if h := g.unit(p.X, p.Y, p.Z); h.Home() == 1 {
			some = append(some, h)
		}
	}
	pos, write := world.Read[Position](g.World), world.Write[Position](g.World)
	for i := range 8 {
		f, err := view.Now()
		require.NoError(t, err)
		read := g.index.Read(f)
		x := nearby.Of(read)
		for range 50 {
			c, radius := near.Point(place(r)), r.Float64()*30
			seen := map[uint32]bool{}
			var hits []near.Hit
			for _, h := range x.Within(make([]nearby.Hit, 3), c.X, c.Y, c.Z, radius, 0)[3:] {
				require.Less(t, int(h.Place), x.Places())
				require.False(t, seen[h.Place], "a place of two")
				seen[h.Place] = true
				at := near.Point(*pos.Get(h.Handle))
				require.Equal(t, g.index.Cell(at), x.Cell(h.Place))
				hits = append(hits, near.Hit{Handle: h.Handle, At: at, Distance2: h.Distance2})
			}
			require.Equal(t, none(read.AppendWithin(nil, c, radius)), none(byCell(g.index, hits)))
		}
		require.Empty(t, x.Within(nil, 0, 0, 0, -1, 0))
		require.Empty(t, x.Within(nil, math.NaN(), 0, 0, 1, 0))
		require.Empty(t, x.Within(nil, 0, 0, math.Inf(1), math.Inf(1), 0))
		f.Release()
		for _, h := range some[20*i : 20*i+19] {
			*write.Get(h) = place(r)
		}
		g.Destroy(some[20*i+19])
		g.Refresh()
	}
}
