package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// walk returns the handles that a query yields, in order.
func walk(q *world.Query) (all []handle.Handle) {
	for ch := range q.Chunks() {
		for i := range ch.Len() {
			all = append(all, ch.Handle(i))
		}
	}
	return all
}

// zoo makes a world with n entities of each bundle and returns them by bundle.
func zoo(t *testing.T, shards, n int) (f *fixture, units, movers, creatures, statues []handle.Handle) {
	f = newFixture(t, world.Options{Shards: shards})
	var err error
	for range n { // interleaved, so that tables share no order with creation
		units = append(units, f.newUnit(1))
		movers, err = f.mover.AppendN(movers, f.World, 1, nil)
		require.NoError(t, err)
		creatures, err = f.creature.AppendN(creatures, f.World, 1, nil)
		require.NoError(t, err)
		statues, err = f.statue.AppendN(statues, f.World, 1, nil)
		require.NoError(t, err)
	}
	return f, units, movers, creatures, statues
}

func TestQueryTerms(t *testing.T) {
	type handles = []handle.Handle
	for _, shards := range []int{1, 3} {
		f, units, movers, creatures, statues := zoo(t, shards, 100)
		w := f.World
		for _, test := range []struct {
			name string
			ask  func(a world.Binder) []world.Term
			want []handles
		}{
			{"nothing: all", func(world.Binder) []world.Term { return nil }, []handles{units, movers, creatures, statues}},
			{"reader", func(a world.Binder) []world.Term { return []world.Term{world.Read[Position](a)} }, []handles{movers, creatures, statues}},
			{"writer", func(a world.Binder) []world.Term { return []world.Term{world.Write[Health](a)} }, []handles{units, creatures}},
			{"two", func(a world.Binder) []world.Term {
				return []world.Term{world.Read[Position](a), world.Write[Velocity](a)}
			}, []handles{movers}},
			{"with", func(a world.Binder) []world.Term {
				return []world.Term{world.Read[Position](a), world.With[Name](a)}
			}, []handles{creatures}},
			{"with a tag", func(a world.Binder) []world.Term { return []world.Term{world.With[Frozen](a)} }, []handles{statues}},
			{"without", func(a world.Binder) []world.Term {
				return []world.Term{world.Write[Position](a), world.Without[Frozen](a)}
			}, []handles{movers, creatures}},
			{"without alone", func(a world.Binder) []world.Term { return []world.Term{world.Without[Position](a)} }, []handles{units}},
			{"optional", func(a world.Binder) []world.Term {
				return []world.Term{world.Read[Health](a), world.Optional(world.Write[Position](a))}
			}, []handles{units, creatures}},
			{"optional alone", func(a world.Binder) []world.Term {
				return []world.Term{world.Optional(world.Read[Name](a))}
			}, []handles{units, movers, creatures, statues}},
			{"contradiction of sorts", func(a world.Binder) []world.Term {
				return []world.Term{world.With[Velocity](a), world.With[Frozen](a)}
			}, nil},
		} {
			t.Run(test.name, func(t *testing.T) {
				var want handles
				for _, hs := range test.want {
					want = append(want, hs...)
				}
				q := w.Query(test.ask(w)...)
				require.ElementsMatch(t, want, walk(q))
				require.Equal(t, len(want), q.Count())

				var inSystems handles
				f.tick(func(b *world.Build) func(*world.Context) {
					q := b.Query(test.ask(b)...)
					return func(c *world.Context) {
						mine := walk(q)
						require.Equal(t, len(mine), q.Count())
						for _, h := range mine {
							require.True(t, c.Owns(h), "a system's query covers its shard alone")
						}
						inSystems = append(inSystems, mine...)
					}
				})
				require.ElementsMatch(t, want, inSystems)
			})
		}
	}
}

// TestQuerySlices reads through the slices of accessors, beside Get.
func TestQuerySlices(t *testing.T) {
	f, _, _, _, _ := zoo(t, 2, 100)
	name, health, position := world.Read[Name](f.World), world.Write[Health](f.World), world.Write[Position](f.World)
	q := f.Query(health, world.Optional(position), world.Optional(name))
	n := int64(0)
	for ch := range q.Chunks() {
		h, p, s := health.Slice(ch), position.Slice(ch), name.Slice(ch)
		require.Len(t, h, ch.Len())
		require.Len(t, ch.Handles(), ch.Len())
		require.Equal(t, p == nil, s == nil, "units lack both, creatures have both")
		for i := range h {
			n++
			h[i].Points = n
			require.Same(t, &h[i], health.Get(ch.Handle(i)))
			if p != nil {
				p[i].X = float64(n)
				require.Same(t, &p[i], position.Get(ch.Handles()[i]))
			}
		}
		require.Nil(t, world.Read[Velocity](f.World).Slice(ch))
	}
	require.Equal(t, int64(200), n)
}

// TestQuerySeesNewTables makes a query before there is anything to find.
func TestQuerySeesNewTables(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	q := f.Query(world.Read[Position](f.World))
	require.Empty(t, walk(q))
	require.Zero(t, q.Count())
	for i := 1; i <= 3; i++ {
		require.NoError(t, f.mover.CreateN(f.World, 1, nil))
		require.NoError(t, f.creature.CreateN(f.World, 1, nil))
		require.NoError(t, f.unit.CreateN(f.World, 1, nil))
		require.Equal(t, 2*i, q.Count())
		require.Len(t, walk(q), 2*i)
	}
}

// TestQueryWalksNewTables is TestQuerySeesNewTables for a query that only walks.
func TestQueryWalksNewTables(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	q := f.Query(world.Read[Position](f.World))
	for i, create := range []func(world.Actor, int) error{
		func(by world.Actor, n int) error { return f.mover.CreateN(by, n, nil) },
		func(by world.Actor, n int) error { return f.creature.CreateN(by, n, nil) },
		func(by world.Actor, n int) error { return f.statue.CreateN(by, n, nil) },
	} {
		require.Len(t, walk(q), i)
		require.NoError(t, create(f.World, 1))
		h := walk(q)[i]
		require.NoError(t, f.health.Add(f.World, h, Health{1})) // to a table of its own, or not
		require.Len(t, walk(q), i+1)
	}
}

// TestQueryAcrossShardsStopsEarly leaves loops in the middle.
func TestQueryAcrossShardsStopsEarly(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 4})
	f.newUnits(1000)
	q := f.Query()
	n := 0
	for range q.Chunks() {
		if n++; n == 3 {
			break
		}
	}
	require.Equal(t, 3, n)
	require.Len(t, walk(q), 1000)
	f.Refresh()
}
