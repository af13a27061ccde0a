package region_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/region"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// TestReshard loads a world that is divided by space into more and fewer regions: each walker is in the
// region where it stands, without a PlaceBy, too.
func TestReshard(t *testing.T) {
	for _, regions := range [][2]int{{4, 4}, {1, 2}, {3, 1}} {
		for _, places := range []bool{true, false} {
			options := func(columns, rows int) (world.Options, region.Options) {
				return world.Options{Shards: columns * rows}, region.Options{Width: 100, Height: 100, Columns: columns, Rows: rows}
			}
			wo, o := options(2, 2)
			from := newFixture(t, wo, o, 2, wobble(1))
			from.populate(500, rand.New(rand.NewPCG(1, 1)))
			from.step(10)
			var image bytes.Buffer
			require.NoError(t, snapshot.Write(&image, from.w, snapshot.Options{Scheduler: from.Scheduler}))
			wo, o = options(regions[0], regions[1])
			to := newFixture(t, wo, o, 2, wobble(1))
			if !places {
				to.walkers.PlaceBy(nil)
			}
			require.NoError(t, snapshot.Load(&image, to.w, snapshot.Options{Scheduler: to.Scheduler}))
			pos, seen := world.Read[Position](to.w), 0
			for ch := range to.w.Query(pos).Chunks() {
				for i, h := range ch.Handles() {
					owner, _ := to.w.Owner(h)
					require.Equal(t, to.grid.Shard(pos.Slice(ch)[i]), owner)
					require.Equal(t, pos.Slice(ch)[i], *world.Read[Position](from.w).Get(h))
					seen++
				}
			}
			require.Equal(t, 500, seen)
			to.step(10)
		}
	}
}
