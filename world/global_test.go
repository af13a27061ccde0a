package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// global builds a global system and runs it in the middle of a tick, between two
// systems of the shards; nil ones are left out.
func (f *fixture) global(before, system, after construct) {
	f.t.Helper()
	b := (*world.Build)(engine.Of(f.World).NewBuild(world.AllShards, "global"))
	run, access := system(b), (*engine.Build)(b).Finish()
	shards := func(t *engine.Tick, all built) {
		for i, s := range all {
			c := (*world.Context)(engine.Of(f.World).Context(i))
			(*engine.Context)(c).Acting().Start("test", s.access)
			s.run(c)
			(*engine.Context)(c).Acting().Stop()
		}
	}
	var first, last built
	if before != nil {
		first = f.build(before)
	}
	if after != nil {
		last = f.build(after)
	}
	t := engine.Of(f.World).BeginTick()
	defer t.End(serial)
	shards(t, first)
	func() {
		c := (*world.Context)(engine.Of(f.World).Context(world.AllShards))
		(*engine.Context)(c).Acting().Start("global", access)
		defer (*engine.Context)(c).Acting().Stop()
		run(c)
	}()
	shards(t, last)
}

// TestGlobalSeesAllShards has a global system walk, read, write, create and
// destroy everywhere, also what the shards made in the same tick before it; and
// they see what it made.
func TestGlobalSeesAllShards(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 3})
	units := f.newUnits(300)
	made := make([]handle.Handle, 3)
	var own []handle.Handle
	create := func(b *world.Build) func(*world.Context) {
		b.Creates(f.unit)
		return func(c *world.Context) {
			var err error
			made[c.Shard()], err = f.unit.Create(c, Unit{Health{1000}})
			require.NoError(f.t, err)
		}
	}
	f.global(create, func(b *world.Build) func(*world.Context) {
		require.Equal(t, world.AllShards, b.Shard())
		require.Equal(t, 3, b.Shards())
		b.Creates(f.unit)
		health := world.Write[Health](b)
		all := b.Query(health)
		return func(c *world.Context) {
			require.Equal(t, world.AllShards, c.Shard())
			require.Equal(t, 303, c.Count())
			require.Equal(t, 303, all.Count())
			n := 0
			for ch := range all.Chunks() {
				points := health.Slice(ch)
				for i := range points {
					points[i].Points++
					n++
					if n%10 == 0 { // not seen by this loop
						h, err := f.unit.Create(c, Unit{Health{-1}})
						require.NoError(t, err)
						own = append(own, h)
					}
				}
			}
			require.Equal(t, 303, n)
			for _, h := range append(own, made...) {
				require.NotNil(t, health.Get(h))
				require.True(t, c.Owns(h) && c.Has(h, f.health))
			}
			require.NoError(t, f.health.Set(c, own[0], Health{-7}))
			require.Equal(t, int64(-7), health.Get(own[0]).Points)
			require.NoError(t, c.Destroy(units[0]))
			require.Equal(t, world.Dying, c.Status(units[0]))
		}
	}, func(b *world.Build) func(*world.Context) {
		health := world.Write[Health](b)
		all := b.Query(health)
		return func(c *world.Context) {
			for ch := range all.Chunks() {
				for i := range ch.Len() {
					health.Slice(ch)[i].Points += 10_000
				}
			}
			for _, h := range own {
				require.Equal(t, c.Owns(h), health.Get(h) != nil, "the shard sees at once what was created in it")
			}
		}
	})
	require.Equal(t, 303+len(own)-1, f.Count())
	require.False(t, f.Alive(units[0]))
	health := world.Read[Health](f.World)
	require.Equal(t, int64(10_000+1+299), health.Get(units[299]).Points)
	require.Equal(t, int64(10_000+1001), health.Get(made[2]).Points)
	require.Equal(t, int64(10_000-7), health.Get(own[0]).Points)
}

// TestGlobalPlaces creates where PlaceBy says, and copies in the same shard.
func TestGlobalPlaces(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 4})
	f.unit.PlaceBy(func(u Unit) int { return int(u.Points) })
	var h, twin handle.Handle
	f.global(nil, func(b *world.Build) func(*world.Context) {
		b.Creates(f.unit)
		return func(c *world.Context) {
			var err error
			h, err = f.unit.Create(c, Unit{Health{2}})
			require.NoError(t, err)
			twin, err = world.Copy(c, h)
			require.NoError(t, err)
		}
	}, nil)
	require.Equal(t, uint32(2), h.Home())
	require.Equal(t, uint32(2), twin.Home())
}

// TestGlobalByRequest has a global system that asked for nothing in the shards:
// what it does is applied at the refresh, and it cannot look.
func TestGlobalByRequest(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 3})
	units := f.newUnits(3)
	f.global(nil, func(b *world.Build) func(*world.Context) {
		health := world.ReadForeign[Health](b)
		return func(c *world.Context) {
			for i, h := range units {
				v, ok := health.Get(h)
				require.True(t, ok)
				require.Equal(t, int64(i), v.Points)
				require.False(t, c.Owns(h))
			}
			require.NoError(t, f.health.Set(c, units[0], Health{70}))
			require.NoError(t, c.Destroy(units[1]))
			require.Equal(t, world.Alive, c.Status(units[1]))
			v, _ := health.Get(units[0])
			require.Zero(t, v.Points)
			mustPanic(t, []string{`global system "global"`, "Count without having asked"}, func() { c.Count() })
			mustPanic(t, []string{`global system "global" creates from bundle`, "without having asked"}, func() { _, _ = f.unit.Create(c, Unit{}) })
		}
	}, nil)
	require.Equal(t, int64(70), world.Read[Health](f.World).Get(units[0]).Points)
	require.False(t, f.Alive(units[1]))
}

// TestGlobalMisuse asks a global system's Build for what only shards have.
func TestGlobalMisuse(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	b := (*world.Build)(engine.Of(f.World).NewBuild(world.AllShards, "lord"))
	mustPanic(t, []string{`global system "lord" calls world.Receive`, "not global"}, func() { world.Receive[Hit](b) })
	mustPanic(t, []string{`global system "lord" calls world.ReadForeign`, "no neighbours"}, func() { world.ReadForeign[Health](b, 1) })
	shard := (*world.Build)(engine.Of(f.World).NewBuild(0, "serf"))
	mustPanic(t, []string{`system "serf" reads "health" in shard 2`, "0 to 1"}, func() { world.ReadForeign[Health](shard, 1, 2) })
	mustPanic(t, []string{`system "serf" reads "health" in shard -1`}, func() { world.ReadForeign[Health](shard, -1) })
}

// TestForeignNeighbours reads in declared shards, in the own one, and nowhere
// else.
func TestForeignNeighbours(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 4})
	f.unit.PlaceBy(func(u Unit) int { return int(u.Points) })
	units := f.newUnits(4)
	b := (*world.Build)(engine.Of(f.World).NewBuild(1, "near"))
	health := world.ReadForeign[Health](b, 3, 2, 3)
	world.ReadForeign[Position](b, 1, 0)
	access := (*engine.Build)(b).Finish()
	require.Equal(t, []int{0, 2, 3}, access.Neighbours)
	require.Equal(t, 2, access.Neighbour.Len())
	require.Zero(t, access.Foreign.Len())
	inTurn := func(look func()) {
		tick := engine.Of(f.World).BeginTick()
		defer tick.End(serial)
		c := (*world.Context)(engine.Of(f.World).Context(1))
		(*engine.Context)(c).Acting().Start("near", access)
		defer (*engine.Context)(c).Acting().Stop()
		look()
	}
	inTurn(func() {
		for i, h := range units {
			v, ok := health.Get(h)
			require.Equal(t, i != 0, ok)
			if ok {
				require.Equal(t, int64(i), v.Points)
			}
		}
	})
	require.NoError(t, f.health.Set(f.World, units[2], Health{5}))
	f.Destroy(units[3])
	f.Refresh()
	inTurn(func() {
		v, ok := health.Get(units[2])
		require.True(t, ok && v.Points == 5)
		_, ok = health.Get(units[3])
		require.False(t, ok)
	})
}
