package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// TestLoopDoesNotSeeWhatItCreates creates in a loop, in every shard and of every
// bundle: the loop walks the rows that were there when it began, and ends.
func TestLoopDoesNotSeeWhatItCreates(t *testing.T) {
	for _, shards := range []int{1, 4} {
		f, units, _, creatures, _ := zoo(t, shards, 30)
		q := f.Query(world.Read[Health](f.World))
		there := map[handle.Handle]bool{}
		for _, h := range append(units, creatures...) {
			there[h] = true
		}
		for round := range 3 {
			seen := 0
			for ch := range q.Chunks() {
				for i := range ch.Len() {
					require.True(t, there[ch.Handle(i)], "round %d: sees what it created", round)
					seen++
				}
				require.NoError(t, f.unit.CreateN(f.World, 40, nil))
				require.NoError(t, f.creature.CreateN(f.World, 3, nil))
				f.newUnit(1)
			}
			require.Equal(t, len(there), seen, "round %d", round)
			for _, h := range walk(q) {
				there[h] = true // the next loop sees all
			}
			require.Equal(t, q.Count(), len(there))
			if round == 1 {
				f.Refresh()
			}
		}
	}
}

// TestLoopInSystem does the same within a tick, loops within loops.
func TestLoopInSystem(t *testing.T) {
	f, _, _, _, _ := zoo(t, 3, 100)
	for range 3 {
		f.tick(func(b *world.Build) func(*world.Context) {
			b.Creates(f.unit, f.creature, f.mover)
			outer := b.Query(world.Read[Health](b))
			inner := b.Query(world.With[Health](b))
			return func(c *world.Context) {
				want := outer.Count()
				seen := 0
				for ch := range outer.Chunks() {
					seen += ch.Len()
					before, n := inner.Count(), 0
					for ch := range inner.Chunks() {
						n += ch.Len()
						require.NoError(t, f.unit.CreateN(c, 20, nil))
						require.NoError(t, f.creature.CreateN(c, 2, nil))
						require.NoError(t, f.mover.CreateN(c, 2, nil))
						for range inner.Chunks() { // a third loop of the same query
							break
						}
					}
					require.Equal(t, before, n, "the inner loop sees what the outer created, not what it creates itself")
				}
				require.Equal(t, want, seen)
				require.Greater(t, outer.Count(), want)
			}
		})
	}
}

// TestLoopAfterTick creates within as many loops on the idle world as there were
// within a tick, whose last one created, too: each is a loop of its own.
func TestLoopAfterTick(t *testing.T) {
	for loops := range 4 {
		f := newFixture(t, world.Options{Shards: 2})
		f.newUnits(300) // in both shards
		f.tick(func(b *world.Build) func(*world.Context) {
			b.Creates(f.unit)
			q := b.Query(world.Read[Health](b))
			return func(c *world.Context) {
				for range loops {
					for range q.Chunks() {
						require.NoError(t, f.unit.CreateN(c, 1, nil))
					}
				}
			}
		})
		q := f.Query(world.Read[Health](f.World))
		for round := range 6 {
			want, seen := q.Count(), 0
			for ch := range q.Chunks() {
				seen += ch.Len()
				f.newUnits(200)
			}
			require.Equal(t, want, seen, "round %d after %d loops", round, loops)
		}
	}
}

// TestLoopOfNewTables creates the first entity of a component set in a loop that
// would match it.
func TestLoopOfNewTables(t *testing.T) {
	for _, shards := range []int{1, 3} {
		f := newFixture(t, world.Options{Shards: shards})
		f.newUnits(100)
		q := f.Query(world.Read[Health](f.World))
		seen := 0
		for ch := range q.Chunks() {
			seen += ch.Len()
			require.NoError(t, f.creature.CreateN(f.World, 10, nil))
		}
		require.Equal(t, 100, seen)
	}
}

// TestLoopDestroys destroys everything in a loop, seen again by a second.
func TestLoopDestroys(t *testing.T) {
	f, _, _, _, _ := zoo(t, 2, 200)
	q := f.Query()
	for range 2 {
		n := 0
		for ch := range q.Chunks() {
			for _, h := range ch.Handles() {
				f.Destroy(h)
				n++
			}
		}
		require.Equal(t, 800, n, "the marked are there until the refresh")
	}
	f.Refresh()
	require.Zero(t, q.Count())
	require.Empty(t, walk(q))
}

// TestLoopPointersStay keeps pointers, slices and chunk views while thousands
// are created: all stay good until the refresh.
func TestLoopPointersStay(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	all := f.newUnits(50)
	health := world.Write[Health](f.World)
	pointers := map[handle.Handle]*Health{}
	for _, h := range all {
		pointers[h] = health.Get(h)
	}
	var slices [][]Health
	var chunks []world.Chunk
	for ch := range f.Query(health).Chunks() {
		slices, chunks = append(slices, health.Slice(ch)), append(chunks, ch)
		f.newUnits(iterations(10_000))
	}
	for i, h := range all {
		require.Same(t, pointers[h], health.Get(h))
		require.Equal(t, int64(i), pointers[h].Points)
		pointers[h].Points *= 2
	}
	n := 0
	for i, ch := range chunks {
		require.Len(t, slices[i], ch.Len(), "a view's length does not change")
		for k := range slices[i] {
			n++
			require.Same(t, pointers[ch.Handle(k)], &slices[i][k])
		}
	}
	require.Equal(t, len(all), n)
	f.Refresh()
	for i, h := range all {
		require.Equal(t, int64(2*i), health.Get(h).Points)
	}
}

// TestLoopPointersStayInSystem does the same on one shard within a tick.
func TestLoopPointersStayInSystem(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	f.newUnits(400)
	f.tick(func(b *world.Build) func(*world.Context) {
		b.Creates(f.unit)
		health := world.Write[Health](b)
		q := b.Query(health)
		return func(c *world.Context) {
			for ch := range q.Chunks() {
				s, p := health.Slice(ch), health.Get(ch.Handle(0))
				was := *p
				require.NoError(t, f.unit.CreateN(c, iterations(10_000), func(_ int, u *Unit) { u.Points = -1 }))
				require.Same(t, &s[0], p)
				require.Same(t, p, health.Get(ch.Handle(0)))
				require.Equal(t, was, *p)
			}
		}
	})
}
