package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// TestSharesOfLargeNumbers divides numbers whose products are too large for an int of 32 bits:
// entities among many shards, and those that are to move among tables.
func TestSharesOfLargeNumbers(t *testing.T) {
	shards := handle.HomeMax                 // 4095, or with the other layout of handles fewer
	n := max(iterations(600_000), 20*shards) // few are not divided
	f := newFixture(t, world.Options{Shards: shards})
	require.NoError(t, f.unit.CreateN(f.World, n, nil))
	for i, x := range f.stats().Shards {
		require.InDelta(t, n/shards, x.Entities, 1, "shard %d", i)
	}

	f = newFixture(t, world.Options{Shards: 2})
	require.NoError(t, f.unit.PlaceBy(func(Unit) int { return 0 }).CreateN(f.World, 60_000, nil))
	require.NoError(t, f.mover.PlaceBy(func(Mover) int { return 0 }).CreateN(f.World, 60_000, nil))
	f.shift(serial, extend.Shift{From: 0, To: 1, Entities: 60_000})
	for _, table := range f.Describe().Shards[1].Tables {
		require.Equal(t, 30_000, table.Entities, "%v", table.Components)
	}
}
