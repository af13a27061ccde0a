package world_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/shard"
	"github.com/atoll-sim/atoll/world"
)

// TestAtomsByPosition counts, finds by position and walks the same entities, whole
// tables and such of which some are left out.
func TestAtomsByPosition(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 3, ChunkRowsMax: 32})
	all := f.newUnits(300)
	require.NoError(t, f.creature.CreateN(f.World, 100, func(i int, v *Creature) { v.Points = int64(1000 + i) }))
	for _, h := range all[:50] {
		require.NoError(t, f.name.Add(f.World, h, Name{"who"}))
	}
	health := world.Read[Health](f.World)
	q := f.Query(health)
	mustAgree := func(q *world.Query) {
		t.Helper()
		var byChunk, byAtom, byPosition []handle.Handle
		for ch := range q.Chunks() {
			byChunk = append(byChunk, ch.Handles()...)
		}
		for h, l := range q.Entities() {
			byAtom = append(byAtom, h)
			require.Equal(t, f.Locate(h), l)
			require.Same(t, health.Get(h), health.At(l))
		}
		for i := range q.Count() {
			at, ok := q.At(i)
			require.True(t, ok)
			require.Equal(t, 1, at.Len())
			h := at.Handle(0)
			require.Same(t, health.Get(h), &health.Slice(at)[0])
			byPosition = append(byPosition, h)
		}
		require.Equal(t, byChunk, byAtom)
		require.Equal(t, byChunk, byPosition)
		for _, i := range []int{-1, q.Count(), q.Count() + 1000} {
			_, ok := q.At(i)
			require.False(t, ok, "position %d", i)
		}
	}
	mustAgree(q)
	mustAgree(q.Limit(70))
	mustAgree(f.Query(health, world.With[Name](f.World)))
	mustAgree(f.Query(health, world.With[Frozen](f.World)))
	for i, h := range all {
		if i%5 == 0 {
			require.NoError(t, world.AddFlags(f.World, h, burning))
		}
		if i%3 == 0 {
			require.NoError(t, world.AddFlags(f.World, h, burning))
		}
	}
	mustAgree(q)
	mustAgree(q.Limit(100))
	mustAgree(f.Query(health, world.WithFlags(f.World, burning)))
	mustAgree(f.Query(health, world.WithoutFlags(f.World, burning)))

	// Marked ones are counted, and keep their places, until the refresh.
	count := q.Count()
	at, _ := q.At(7)
	dead := at.Handle(0)
	f.Destroy(dead)
	require.Equal(t, count, q.Count())
	at, _ = q.At(7)
	require.Equal(t, dead, at.Handle(0))
	f.Refresh()
	require.Equal(t, count-1, q.Count())
	mustAgree(q)
	for range q.Entities() {
		break
	}
	f.Refresh() // the loop is over
	f.tick(func(b *world.Build) func(*world.Context) {
		own := b.Query(world.Read[Health](b))
		return func(c *world.Context) {
			n := 0
			for h := range own.Entities() {
				at, ok := own.At(n)
				require.True(t, ok)
				require.Equal(t, h, at.Handle(0))
				require.True(t, c.Owns(h))
				n++
			}
			require.Equal(t, own.Count(), n)
		}
	})
}

// TestPositionsKeepOrder destroys one in a world that keeps the order: all behind it
// move up by one place.
func TestPositionsKeepOrder(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1, KeepOrder: true})
	all := f.newUnits(6)
	q := f.Query(world.Read[Health](f.World))
	f.Destroy(all[3])
	f.Refresh()
	for i, h := range slices.Delete(slices.Clone(all), 3, 4) {
		at, ok := q.At(i)
		require.True(t, ok)
		require.Equal(t, h, at.Handle(0))
	}
}

func TestChunkView(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1, ChunkRowsFirst: 8, ChunkRowsFactor: 1, ChunkRowsMax: 8})
	all := f.newUnits(20)
	other, _ := f.mover.Create(f.World, Mover{})
	n := 0
	for ch := range f.Query(world.Read[Health](f.World)).Chunks() {
		require.Equal(t, 8, ch.Cap())
		require.Equal(t, []int{8, 8, 4}[n], ch.Len())
		for i, h := range all {
			require.Equal(t, i/8 == n, ch.Contains(h), "%d in chunk %d", i, n)
		}
		require.False(t, ch.Contains(other))
		require.False(t, ch.Contains(handle.None))
		require.False(t, ch.Contains(handle.New(0, 5, 99)), "a version that is not there")
		require.Equal(t, f.Locate(ch.Handle(3)), ch.Loc(3))
		n++
	}
	require.Equal(t, 3, n)
	for ch := range f.Query(world.Read[Health](f.World)).Limit(3).Chunks() { // rows that are not of the view
		require.True(t, ch.Contains(all[2]))
		require.False(t, ch.Contains(all[3]))
	}
	dead := all[2]
	f.Destroy(dead)
	f.Refresh()
	for ch := range f.Query(world.Read[Health](f.World)).Chunks() {
		require.False(t, ch.Contains(dead))
	}
}

// TestTables describes the tables of a world, with their chunks.
func TestTables(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2, ChunkRowsFirst: 8, ChunkRowsFactor: 1, ChunkRowsMax: 8})
	f.unit.PlaceBy(func(u Unit) int { return int(u.Points % 2) })
	all := f.newUnits(30)
	f.Destroy(all[1])
	for i, s := range f.Describe().Shards {
		require.Equal(t, []shard.TableInfo{{Components: []string{"health"}, Entities: 15, Dying: i, Capacity: 16, Chunks: []int{8, 8}}}, s.Tables)
	}
	f.Refresh()
	require.Equal(t, 29, f.Count())
}

// TestBundleSet stores several components at once, by whoever can.
func TestBundleSet(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	f.creature.PlaceBy(func(c Creature) int { return int(c.Points) })
	own, _ := f.creature.Create(f.World, Creature{Name: Name{"own"}})
	foreign, _ := f.creature.Create(f.World, Creature{Health: Health{1}, Name: Name{"foreign"}})
	unit := f.newUnit(5)
	type Hurt struct {
		Name
		Health
	}
	hurt := world.NewBundle[Hurt](f.World)
	health, name := world.Read[Health](f.World), world.Read[Name](f.World)
	at := f.Locate(own)

	require.NoError(t, hurt.Set(f.World, own, Hurt{Name{"a"}, Health{7}}))
	require.Equal(t, at, f.Locate(own), "it stays where it is")
	require.Equal(t, "a", name.Get(own).Text)
	require.Equal(t, int64(7), health.Get(own).Points)
	require.ErrorIs(t, hurt.Set(f.World, unit, Hurt{Health: Health{9}}), world.ErrMissing)
	require.Equal(t, int64(5), health.Get(unit).Points, "nothing was stored")
	require.ErrorIs(t, hurt.Set(f.World, handle.New(0, 9, 9), Hurt{}), world.ErrStale)

	f.tick(on(0, func(b *world.Build) func(*world.Context) {
		seen := world.Write[Health](b)
		world.Write[Name](b)
		return func(c *world.Context) {
			require.NoError(t, hurt.Set(c, own, Hurt{Name{"b"}, Health{8}}))
			require.Equal(t, int64(8), seen.Get(own).Points, "at once")
			require.NoError(t, hurt.Set(c, foreign, Hurt{Name{"c"}, Health{9}}))
			require.ErrorIs(t, hurt.Set(c, handle.New(0, 9, 9), Hurt{}), world.ErrStale)
		}
	}))
	require.Equal(t, "b", name.Get(own).Text)
	require.Equal(t, Health{9}, *health.Get(foreign))

	p := f.port()
	var done, missing world.Completion
	require.NoError(t, hurt.Set(p.Notify(&done), own, Hurt{Name{"d"}, Health{10}}))
	require.NoError(t, hurt.Set(p.Notify(&missing), unit, Hurt{}))
	f.Refresh()
	require.Equal(t, world.Applied, done.Outcome())
	require.Equal(t, world.Missing, missing.Outcome())
	require.Equal(t, Health{10}, *health.Get(own))

	mustPanic(t, []string{`calls Bundle.Set of component "name" without having asked for it`}, func() {
		f.tick(on(0, func(b *world.Build) func(*world.Context) {
			world.Write[Health](b)
			return func(c *world.Context) { _ = hurt.Set(c, own, Hurt{}) }
		}))
	})
	other := newFixture(t, world.Options{})
	mustPanic(t, []string{"belongs to another world"}, func() { _ = hurt.Set(other.World, own, Hurt{}) })
	mustPanic(t, []string{"nil Actor"}, func() { _ = hurt.Set(nil, own, Hurt{}) })
	f.Close()
	require.ErrorIs(t, hurt.Set(f.World, own, Hurt{}), world.ErrClosed)
}
