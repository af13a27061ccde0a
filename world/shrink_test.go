package world_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/world"
)

// Components that come and go in the tests of memory that is given back.
type (
	Kind0 struct{ N int64 }
	Kind1 struct{ N int32 }
	Kind2 struct{ Text string }
	Kind3 struct{}
	Kind4 struct{ N [3]int64 }
	Kind5 struct{}
	Kind6 struct{}
	Kind7 struct{ N int16 }
)

// kind is how to add one of them to entities, remove it, and look for it.
type kind struct {
	with   world.Term
	add    func(world.Actor, handle.Handle) error
	remove func(world.Actor, handle.Handle) error
	all    func(*world.Query) error
}

// kinds registers them.
func kinds(w *world.World) []kind {
	return []kind{
		kindOf[Kind0](w, "0"), kindOf[Kind1](w, "1"), kindOf[Kind2](w, "2"), kindOf[Kind3](w, "3"),
		kindOf[Kind4](w, "4"), kindOf[Kind5](w, "5"), kindOf[Kind6](w, "6"), kindOf[Kind7](w, "7"),
	}
}

func kindOf[T any](w *world.World, name string) kind {
	c := world.Register[T](w, name)
	return kind{
		world.With[T](w),
		func(by world.Actor, h handle.Handle) error { return c.Add(by, h, *new(T)) },
		func(by world.Actor, h handle.Handle) error { return c.Remove(by, h) },
		func(q *world.Query) error { return c.AddTo(q, nil) },
	}
}

// refreshes makes so many.
func (f *fixture) refreshes(n int) {
	for range n {
		f.Refresh()
	}
}

// TestShrinkSets fills a world with another component set each cycle and destroys all: the
// memory does not grow with the cycles, and in the end all of it comes back.
func TestShrinkSets(t *testing.T) {
	for _, change := range []string{"whole chunks", "one by one"} {
		t.Run(change, func(t *testing.T) {
			f := newFixture(t, world.Options{Shards: 2})
			all, kinds := f.Query(), kinds(f.World)
			f.Refresh()
			empty := f.stats()
			n := iterations(20_000)
			var after []uint64
			for cycle := range 32 {
				require.NoError(t, f.mover.CreateN(f.World, n, nil))
				for i, k := range kinds {
					switch {
					case (cycle+1)>>i&1 == 0:
					case change == "whole chunks":
						require.NoError(t, k.all(all))
					default:
						var hs []handle.Handle
						for ch := range all.Chunks() {
							hs = append(hs, ch.Handles()...)
						}
						for _, h := range hs {
							require.NoError(t, k.add(f.World, h))
						}
					}
				}
				f.Refresh()
				require.Equal(t, n, all.Destroy())
				f.Refresh()
				after = append(after, f.stats().BytesReserved)
			}
			require.LessOrEqual(t, slices.Max(after[16:]), 2*slices.Max(after[:16]), "%d", after)
			f.refreshes(150)
			now := f.stats()
			require.Equal(t, []int{empty.Tables, 0}, []int{now.Tables, now.Chunks})
		})
	}
}

// TestShrinkTags gives entities random components one by one and destroys them: tables and
// chunks come back, queries lose those that are gone, and find what is made anew.
func TestShrinkTags(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2, QueueRequests: 1 << 15, QueueBytes: 1 << 22})
	kinds, r := kinds(f.World), newRand(t, 1)
	had := f.Query(kinds[3].with, kinds[5].with)
	empty := f.stats()
	for range 3 {
		p := f.port()
		want := 0
		for i := range iterations(4000) {
			h := f.newUnit(int64(i))
			set := r.IntN(1 << len(kinds))
			for k := range kinds {
				if set>>k&1 != 0 {
					require.NoError(t, kinds[k].add([]world.Actor{f.World, p}[i%2], h))
				}
			}
			if set&0b101000 == 0b101000 {
				want++
			}
		}
		f.Refresh()
		require.Equal(t, want, had.Count())
		require.Greater(t, f.stats().Tables, empty.Tables+150)
		f.Query().Destroy()
		f.Refresh()
		require.Zero(t, had.Count())
		f.refreshes(150)
		now := f.stats()
		require.Equal(t, []int{empty.Tables, 0}, []int{now.Tables, now.Chunks})
		p.Close()
	}
}

// TestShrinkModel adds, removes, moves and destroys at random, with long pauses, so that
// tables go and are made anew beside others that stay, and holds queries against a map.
func TestShrinkModel(t *testing.T) {
	for _, o := range []world.Options{{Shards: 3}, {Shards: 2, KeepOrder: true, ChunkRowsMax: 32}} {
		t.Run(fmt.Sprintf("%+v", o), func(t *testing.T) {
			f := newFixture(t, o)
			all := kinds(f.World)
			kinds := all[:4]
			r := newRand(t, 5)
			p := f.port()
			want := map[handle.Handle]int{}
			queries := make([]*world.Query, 1<<len(kinds))
			for set := range queries {
				var terms []world.Term
				for k := range kinds {
					if set>>k&1 != 0 {
						terms = append(terms, kinds[k].with)
					}
				}
				queries[set] = f.Query(terms...)
			}
			remade := 0
			for range iterations(400) {
				for range r.IntN(60) {
					want[f.newUnit(1)] = 0
				}
				for h, set := range want {
					k := r.IntN(len(kinds))
					var by world.Actor = f.World
					if r.IntN(2) == 0 {
						by = p
					}
					switch n := r.IntN(10); {
					case n < 3:
						require.NoError(t, kinds[k].add(by, h))
						want[h] = set | 1<<k
					case n < 5 && by == world.Actor(p):
						require.NoError(t, kinds[k].remove(by, h))
						want[h] = set &^ (1 << k)
					case n == 5:
						require.NoError(t, world.Move(by, h, r.IntN(o.Shards)))
					case n < 8:
						require.NoError(t, p.Destroy(h))
						delete(want, h)
					}
					f.Refresh() // so that requests and the idle world's changes do not overtake each other
					if r.IntN(20) > 0 {
						break
					}
				}
				if r.IntN(10) == 0 {
					f.Query().Destroy()
					clear(want)
				}
				before := f.stats().Tables
				f.refreshes(1 + r.IntN(4)*r.IntN(30))
				if f.stats().Tables < before {
					remade++
				}
				counts := make([]int, len(queries))
				for _, set := range want {
					for q := range queries {
						if q&^set == 0 {
							counts[q]++
						}
					}
				}
				for q := range queries {
					require.Equal(t, counts[q], queries[q].Count())
				}
				require.Equal(t, len(want), f.Count())
			}
			require.Greater(t, remade, iterations(400)/40)
		})
	}
}

// TestShrinkAllocatesNothing uses tables each tick, every other tick, and in changing
// numbers: their memory is not given back meanwhile.
func TestShrinkAllocatesNothing(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	all, kinds := f.Query(), kinds(f.World)
	tick := 0
	cycle := func() {
		for range 2 {
			tick++
			_ = f.mover.CreateN(f.World, 3000, nil)
			if tick%2 == 0 {
				_ = f.unit.CreateN(f.World, 5000, nil)
				_ = kinds[3].all(all)
			} else {
				_ = kinds[0].all(all)
			}
			f.Refresh()
			all.Destroy()
			f.Refresh()
		}
	}
	for range 20 {
		cycle()
	}
	runs := 60
	if check.Enabled { // one goroutine does this, and it takes long with the checks
		runs = 10
	}
	require.Zero(t, testing.AllocsPerRun(runs, cycle))
}

// TestShrinkReserved keeps reserved room until it was used, and gives it back by Clear.
func TestShrinkReserved(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	empty := f.stats()
	require.NoError(t, f.mover.Reserve(f.World, 20_000))
	reserved := f.stats()
	require.NotZero(t, reserved.Chunks)
	f.refreshes(200)
	require.Equal(t, reserved.Chunks, f.stats().Chunks, "it may be needed yet")
	require.NoError(t, f.mover.CreateN(f.World, 20_000, nil))
	require.Equal(t, reserved.Chunks, f.stats().Chunks)
	f.Query().Destroy()
	f.refreshes(150)
	require.Zero(t, f.stats().Chunks, "it was used")
	require.NoError(t, f.mover.Reserve(f.World, 20_000))
	f.Clear()
	require.Equal(t, []int{empty.Tables, 0}, []int{f.stats().Tables, f.stats().Chunks})
}

// TestClearGivesBack clears a world that is large, again and again: nothing is left but the
// tables of bundles, and what slots take.
func TestClearGivesBack(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	kinds, all := kinds(f.World), f.Query()
	empty := f.stats()
	n := iterations(40_000)
	for range 3 {
		require.NoError(t, f.creature.CreateN(f.World, n, nil))
		for _, k := range kinds {
			require.NoError(t, k.all(all))
		}
		f.Clear()
		require.Zero(t, all.Count())
		now := f.stats()
		require.Equal(t, []int{empty.Tables, 0}, []int{now.Tables, now.Chunks})
		require.LessOrEqual(t, now.BytesReserved, empty.BytesReserved+uint64(n)*2*12, "slots and their free list")
	}
	f.mustHave(7)(f.newUnit(7))
}

// TestShrinkReservedUsed gives reserved chunks back that were used, also when those before
// them went first.
func TestShrinkReservedUsed(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1})
	f.newUnits(16)
	require.NoError(t, f.unit.Reserve(f.World, 4000))
	f.Query().Destroy()
	f.refreshes(200)
	require.Equal(t, 1, f.stats().Chunks, "the room")
	f.newUnits(1000)
	f.Query().Destroy()
	f.refreshes(200)
	require.Zero(t, f.stats().Chunks)
}

// TestShrinkKeepsRoom reserves room that is there already, of entities that have died.
func TestShrinkKeepsRoom(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1})
	const n = 4096
	f.newUnits(n)
	f.Query().Destroy()
	f.Refresh()
	require.NoError(t, f.unit.Reserve(f.World, n))
	f.refreshes(200)
	before := f.stats().BytesReserved
	f.newUnits(n)
	require.Equal(t, before, f.stats().BytesReserved)
}

// TestShrinkCollected lets go of all or nearly all of a world in several ways: the collector gets
// the rows and handles of the chunks that were given back, and of the components that were removed.
func TestShrinkCollected(t *testing.T) {
	const n = 5 * 4096
	for name, leave := range map[string]func(f *fixture, all *world.Query){
		"destroyed":        func(_ *fixture, all *world.Query) { all.Limit(n - 1).Destroy() },
		"added, destroyed": func(f *fixture, all *world.Query) { require.NoError(t, f.frozen.AddTo(all, nil)); all.Destroy() },
		"removed":          func(f *fixture, all *world.Query) { require.NoError(t, all.Remove(f.position, f.velocity)) },
		"one by one":       func(f *fixture, all *world.Query) { require.NoError(t, all.Limit(n-1).Remove(f.velocity)) },
	} {
		for _, order := range []bool{false, true} {
			f := newFixture(t, world.Options{Shards: 1, KeepOrder: order})
			velocity := world.Read[Velocity](f.World)
			all := f.Query(velocity)
			for range 5 { // strips of 1, 1, 2 and 4 chunks
				require.NoError(t, f.mover.CreateN(f.World, n/5, nil))
			}
			f.Refresh()
			var rows []weak.Pointer[Velocity]
			var handles []weak.Pointer[handle.Handle]
			for ch := range all.Chunks() {
				rows = append(rows, weak.Make(&velocity.Slice(ch)[0]))
				handles = append(handles, weak.Make(&ch.Handles()[0]))
			}
			require.Greater(t, len(rows), 3)
			leave(f, all)
			f.refreshes(200)
			runtime.GC()
			kept, held := 0, 0
			for i := range rows {
				if rows[i].Value() != nil {
					kept++
				}
				if handles[i].Value() != nil {
					held++
				}
			}
			require.LessOrEqual(t, kept, all.Count(), "%s, in order: %t", name, order) // 0, or 1 in the first chunk
			require.LessOrEqual(t, held, f.stats().Chunks, "%s, in order: %t", name, order)
			runtime.KeepAlive(f)
		}
	}
}

// TestShrinkRests lets chunks of another table come behind a chunk that began a strip: what is left
// of the strip is used for other chunks.
func TestShrinkRests(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1})
	tagged := world.NewBundle[struct {
		Health
		Frozen
	}](f.World)
	health := world.Read[Health](f.World)
	without := f.Query(health, world.Without[Frozen](f.World))
	with := f.Query(health, world.With[Frozen](f.World))
	const chunk = 4096
	require.NoError(t, f.unit.CreateN(f.World, 16*chunk, nil))
	rounds := 40
	if check.Enabled {
		rounds = 10
	}
	for range rounds {
		require.NoError(t, f.unit.CreateN(f.World, chunk, nil)) // begins a strip of 16
		for range 16 {
			require.NoError(t, tagged.CreateN(f.World, chunk, nil))
		}
		require.NoError(t, with.Remove(f.frozen)) // their chunks come behind it
		without.Limit(15 * chunk).Destroy()
		f.refreshes(40)
	}
	s := f.stats()
	require.Less(t, s.BytesReserved-s.BytesUsed, uint64(5<<20), "what is held for further chunks")
}
