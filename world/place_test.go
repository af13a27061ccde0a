package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// perShard counts the atoms of each shard.
func (f *fixture) perShard() []int {
	n := make([]int, f.Shards())
	for i, s := range f.stats().Shards {
		n[i] = s.Entities
	}
	return n
}

// evenly checks that the shards hold the same number, up to a run.
func evenly(t *testing.T, perShard []int, run int) {
	t.Helper()
	least, most := perShard[0], perShard[0]
	for _, n := range perShard {
		least, most = min(least, n), max(most, n)
	}
	require.LessOrEqual(t, most-least, run, "%v", perShard)
}

func TestPlaceRoundRobin(t *testing.T) {
	const shards, n = 5, 5*160 + 3
	for name, create := range map[string]func(f *fixture){
		"World, one by one": func(f *fixture) { f.newUnits(n) },
		"World, in numbers": func(f *fixture) { require.NoError(t, f.unit.CreateN(f.World, n, nil)) },
		"Port, one by one": func(f *fixture) {
			p := f.port()
			for range n {
				_, err := f.unit.Create(p, Unit{})
				require.NoError(t, err)
			}
		},
		"Port, in numbers": func(f *fixture) { require.NoError(t, f.unit.CreateN(f.port(), n, nil)) },
		"many Ports": func(f *fixture) {
			for range n {
				_, err := f.unit.Create(f.port(), Unit{})
				require.NoError(t, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, world.Options{Shards: shards})
			create(f)
			f.Refresh()
			require.Equal(t, n, f.Count())
			evenly(t, f.perShard(), 64)

			again := newFixture(t, world.Options{Shards: shards})
			create(again)
			again.Refresh()
			require.Equal(t, f.perShard(), again.perShard(), "the same calls give the same world")
		})
	}
}

// TestPlaceInLongRuns fills a world one by one: the runs grow with it, and the shards
// stay even.
func TestPlaceInLongRuns(t *testing.T) {
	const shards = 5
	f := newFixture(t, world.Options{Shards: shards})
	run, longest, before := 0, 0, -1
	for n := 1; n <= 60_000; n++ {
		if at, _ := f.Owner(f.newUnit(int64(n))); at != before {
			run, before = 0, at
		}
		run++
		require.LessOrEqual(t, run, max(64, n/shards/8))
		longest = max(longest, run)
		if n%10_000 == 0 {
			evenly(t, f.perShard(), longest)
		}
	}
	require.Equal(t, 1024, longest)
}

// TestPlaceBy places by the value, whoever creates; a system creates in its own
// shard regardless.
func TestPlaceBy(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 4})
	f.unit.PlaceBy(func(u Unit) int { return int(u.Points) })
	p := f.port()
	for i := range int64(4) {
		for range i {
			h, err := f.unit.Create(f.World, Unit{Health{i}})
			require.NoError(t, err)
			require.Equal(t, uint32(i), h.Shard(), "at home where it is")
		}
		_, err := f.unit.Create(p, Unit{Health{i}})
		require.NoError(t, err)
		require.NoError(t, f.unit.CreateN(f.World, 10, func(_ int, u *Unit) { u.Points = i }))
		require.NoError(t, f.unit.CreateN(p, 10, func(_ int, u *Unit) { u.Points = i }))
	}
	f.Refresh()
	require.Equal(t, []int{21, 22, 23, 24}, f.perShard())

	f.tick(func(b *world.Build) func(*world.Context) {
		b.Creates(f.unit)
		return func(c *world.Context) {
			h, err := f.unit.Create(c, Unit{Health{3}})
			require.NoError(t, err)
			require.Equal(t, uint32(c.Shard()), h.Shard())
			require.True(t, c.Owns(h))
			require.NoError(t, f.unit.CreateN(c, 9, func(_ int, u *Unit) { u.Points = 2 }))
		}
	})
	require.Equal(t, []int{31, 32, 33, 34}, f.perShard())
}

// TestPlaceByPanicCostsNothing places out of range from a port: the port goes on
// as if nothing had been asked.
func TestPlaceByPanicCostsNothing(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2, IndexMax: 3})
	f.unit.PlaceBy(func(u Unit) int { return int(u.Points) })
	p := f.port()
	var done world.Completion
	for range 10 {
		mustPanic(t, []string{"PlaceBy chose shard 2, want 0 to 1"}, func() { _, _ = f.unit.Create(p.Notify(&done), Unit{Health{2}}) })
	}
	var given []handle.Handle
	for range 4 {
		h, err := f.unit.Create(p.Notify(&done), Unit{Health{1}})
		require.NoError(t, err)
		given = append(given, h)
		f.Refresh()
		require.Equal(t, world.Applied, done.Outcome())
	}
	require.Equal(t, 4, f.Count())
	for _, h := range given {
		require.Equal(t, world.Alive, f.Status(h))
	}
}
