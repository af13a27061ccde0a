package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/world"
)

// TestStats has one of each thing that is counted.
func TestStats(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2, VersionMax: 1, QueueRequests: 4})
	f.unit.PlaceBy(func(u Unit) int { return int(u.Points) % 2 })
	require.Zero(t, f.stats().Created)
	require.Len(t, f.stats().Shards, 2)

	f.newUnits(9) // 5 on shard 0, 4 on shard 1
	_, err := f.creature.Create(f.World, Creature{})
	require.NoError(t, err)
	h := f.newUnit(11)
	f.Destroy(h) // retires
	p := f.port()
	_, err = f.unit.Create(p, Unit{Health{20}})     // applied
	require.NoError(t, err)                         //
	require.NoError(t, f.setTo(1)(p, h))            // gone
	require.NoError(t, f.setTo(1)(p, h+100))        // gone, and lost: it is nobody's
	g := f.newUnit(13)                              //
	require.NoError(t, f.name.Set(p, g, Name{}))    // missing
	require.ErrorIs(t, p.Destroy(g), world.ErrFull) // rejected
	f.Refresh()

	s := f.stats()
	for name, count := range map[string][2]uint64{
		"Tick": {s.Tick, 1}, "Entities": {uint64(s.Entities), 12}, "Created": {s.Created, 13}, "Destroyed": {s.Destroyed, 1},
		"Applied": {s.Applied, 1}, "Gone": {s.Gone, 2}, "Missing": {s.Missing, 1}, "Refused": {s.Refused, 0},
		"Rejected": {s.Rejected, 1}, "Retired": {uint64(s.Retired), 1},
	} {
		require.Equal(t, count[1], count[0], name)
	}
	created, entities, tables := uint64(0), 0, 0
	for _, x := range s.Shards {
		created, entities, tables = created+x.Created, entities+x.Entities, tables+x.Tables
	}
	require.Equal(t, []int{13, 12, 3}, []int{int(created), entities, tables})
	require.Equal(t, uint64(1), s.Shards[1].Destroyed)

	require.Zero(t, testing.AllocsPerRun(100, func() { f.Stats(&s) }), "dst is used again")
}

// TestStatsOfHomes fills the home of ports: the Stats tell how much of it, and of that of each
// shard, is used.
func TestStatsOfHomes(t *testing.T) {
	const each = 64 // indexes of a home
	f := newFixture(t, world.Options{Shards: 2, IndexMax: each - 1})
	f.newUnits(10)
	p := f.port()
	made := 0
	for _, err := f.unit.Create(p, Unit{}); err == nil; _, err = f.unit.Create(p, Unit{}) {
		made++
	}
	require.Equal(t, each, made)
	_, err := f.unit.Create(p, Unit{})
	require.ErrorIs(t, err, world.ErrIndexes)
	require.ErrorContains(t, err, "the home of ports")
	f.Refresh()
	s := f.stats()
	require.Equal(t, each, s.PortIndexes)
	of := 0
	for _, x := range s.Shards {
		of += x.Indexes
	}
	require.Equal(t, 10, of)
	require.Equal(t, each+10, s.Indexes)
}
