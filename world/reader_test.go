package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// TestReaderOfLostComponent builds a system, then takes the component away on
// the idle world, and ticks without a refresh between: the system's accessors
// know.
func TestReaderOfLostComponent(t *testing.T) {
	type both struct {
		Health
		Position
	}
	for _, refresh := range []bool{false, true} {
		f := newFixture(t, world.Options{Shards: 2})
		bundle := world.NewBundle[both](f.World).PlaceBy(func(b both) int { return int(b.Points) })
		create := func(shard int64, n int) (all []handle.Handle) {
			all, err := bundle.AppendN(nil, f.World, n, func(_ int, b *both) { b.Points = shard })
			require.NoError(t, err)
			return all
		}
		mine := create(0, 10)
		asked := 0
		run := f.build(on(0, func(b *world.Build) func(*world.Context) {
			health, position := world.Read[Health](b), world.Read[Position](b)
			q := b.Query(position, world.Optional(health))
			return func(c *world.Context) {
				for _, h := range mine {
					asked++
					require.Nil(t, health.Get(h))
					require.NotNil(t, position.Get(h))
					require.False(t, c.Has(h, f.health))
				}
				for ch := range q.Chunks() {
					require.Nil(t, health.Slice(ch))
					require.NotNil(t, position.Slice(ch))
				}
			}
		}))
		create(1, 100_000) // many chunks: directories grow, and are replaced
		if refresh {
			f.Refresh()
		}
		require.NoError(t, f.Query(world.With[Health](f.World)).Remove(f.health))
		f.runTick(run)
		require.Equal(t, len(mine), asked)
	}
}
