package world_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// TestBatchAgainstModel creates, destroys, adds and removes in batches at
// random, with single changes between, and compares everything with a map.
func TestBatchAgainstModel(t *testing.T) {
	steps := iterations(60) + 20
	for seed := range uint64(3) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 2))
			w := world.MustNew(world.Options{Shards: 1 + 2*int(seed)})
			a := world.Register[changeA](w, "a")
			b := world.Register[changeB](w, "b")
			tag := world.Register[changeT](w, "tag")
			pair := world.NewBundle[changePair](w)
			wa, wb := world.Write[changeA](w), world.Write[changeB](w)
			everything := w.Query()
			withB, withoutB := w.Query(wb), w.Query(world.Without[changeB](w))
			withTag := w.Query(world.With[changeT](w))
			model := map[handle.Handle]*changeModel{}
			next := int64(0)
			check := func() {
				require.Equal(t, len(model), w.Count())
				seen := 0
				for rows := range everything.Chunks() {
					as, bs := wa.Slice(rows), wb.Slice(rows)
					for i, h := range rows.Handles() {
						m := model[h]
						require.NotNil(t, m)
						seen++
						require.Equal(t, m.ha, as != nil)
						require.Equal(t, m.hb, bs != nil)
						require.Equal(t, m.ht, w.Has(h, tag))
						require.Equal(t, m.marked, w.Status(h) == world.Dying)
						if m.ha {
							require.Equal(t, m.a, as[i].N)
							require.Same(t, &as[i], wa.Get(h))
						}
						if m.hb {
							require.Equal(t, m.b, bs[i].S)
						}
					}
				}
				require.Equal(t, len(model), seen)
			}
			for range steps {
				switch rng.IntN(8) {
				case 0, 1:
					n := rng.IntN(600)
					require.NoError(t, pair.CreateRows(w, n, func(rows world.Chunk) {
						as, bs := wa.Slice(rows), wb.Slice(rows)
						for i, h := range rows.Handles() {
							require.Zero(t, as[i])
							require.Zero(t, bs[i])
							next++
							as[i].N, bs[i].S = next, fmt.Sprint(next)
							model[h] = &changeModel{a: next, b: bs[i].S, ha: true, hb: true}
						}
					}))
				case 2:
					require.NoError(t, withB.Remove(b))
					for _, m := range model {
						m.hb = false
					}
				case 3:
					n := 0
					for _, m := range model {
						if !m.hb {
							n++
						}
					}
					require.NoError(t, b.AddTo(withoutB, func(rows world.Chunk) {
						for i, h := range rows.Handles() {
							require.Zero(t, wb.Slice(rows)[i])
							n--
							wb.Slice(rows)[i].S = "batch"
							model[h].b, model[h].hb = "batch", true
						}
					}))
					require.Zero(t, n, "every row that came was told of")
				case 4:
					require.NoError(t, tag.AddTo(withB, nil))
					for _, m := range model {
						m.ht = m.ht || m.hb
					}
				case 5:
					fresh := 0
					for _, m := range model {
						if m.ht && !m.marked {
							fresh++
							m.marked = true
						}
					}
					require.Equal(t, fresh, withTag.Destroy())
				case 6:
					w.Refresh()
					for h, m := range model {
						if m.marked {
							delete(model, h)
							require.False(t, w.Alive(h))
						}
					}
				case 7:
					n := 0
					for h, m := range model {
						if n++; n > 50 {
							break
						}
						switch rng.IntN(3) {
						case 0:
							require.NoError(t, a.Add(w, h, changeA{7}))
							m.a, m.ha = 7, true
						case 1:
							require.NoError(t, tag.Add(w, h, changeT{}))
							m.ht = true
						case 2:
							w.Destroy(h)
							m.marked = true
						}
					}
				}
				check()
			}
		})
	}
}

// TestBatchMisuse refuses what would move rows in a loop, and what is not for a
// system.
func TestBatchMisuse(t *testing.T) {
	w := world.MustNew(world.Options{})
	b := world.Register[changeB](w, "b")
	world.Register[changeA](w, "a")
	pair := world.NewBundle[changePair](w)
	q := w.Query()
	require.NoError(t, pair.CreateN(w, 3, nil))
	require.PanicsWithValue(t, "world: bundle world_test.changePair: cannot create -1 entities; want 0 or more", func() { _ = pair.CreateN(w, -1, nil) })
	for range q.Chunks() {
		mustPanic(t, []string{"world: Component.AddTo inside a query loop would move the rows it walks; call it after the loop"}, func() { _ = b.AddTo(q, nil) })
	}
	require.Equal(t, 3, q.Destroy())
	require.Zero(t, q.Destroy())
	w.Refresh()
	require.Zero(t, w.Count())
	build := (*world.Build)(engine.Of(w).NewBuild(0, "s"))
	own := build.Query()
	require.PanicsWithValue(t, "world: Query.Destroy of a Query of a system; it is for a query asked of an idle World; within a system use Component.Add and Remove, or Context.Destroy, for each entity", func() { own.Destroy() })
}

// TestBatchAllocatesNothing repeats creating, changing and destroying in
// batches.
func TestBatchAllocatesNothing(t *testing.T) {
	w := world.MustNew(world.Options{})
	world.Register[changeA](w, "a")
	b := world.Register[changeB](w, "b")
	pair := world.NewBundle[changePair](w)
	all, with, without := w.Query(), w.Query(world.With[changeB](w)), w.Query(world.Without[changeB](w))
	cycle := func() {
		_ = pair.CreateN(w, 5000, nil)
		_ = with.Remove(b)
		_ = b.AddTo(without, nil)
		all.Destroy()
		w.Refresh()
	}
	for range 5 {
		cycle()
	}
	require.Zero(t, testing.AllocsPerRun(20, cycle))
}

// TestBatchInitCreates has init create entities that match the query: they are not changed,
// whichever way rows are moved.
func TestBatchInitCreates(t *testing.T) {
	for _, have := range []int{20, 100, 700} {
		for _, target := range []int{0, 5, 500} {
			f := newFixture(t, world.Options{Shards: 2})
			f.newUnits(target)
			require.NoError(t, f.frozen.AddTo(f.Query(world.Read[Health](f.World)), nil))
			old, fresh := f.newUnits(have), []handle.Handle(nil)
			q := f.Query(world.Read[Health](f.World), world.Without[Frozen](f.World))
			told := map[handle.Handle]bool{}
			require.NoError(t, f.frozen.AddTo(q, func(rows world.Chunk) {
				for _, h := range rows.Handles() {
					require.False(t, told[h])
					told[h] = true
				}
				for range 100 {
					fresh = append(fresh, f.newUnit(1))
				}
			}))
			require.Len(t, told, have)
			for _, h := range old {
				require.True(t, told[h])
			}
			for _, h := range fresh {
				require.False(t, f.Has(h, f.frozen))
			}
			require.Equal(t, len(fresh), q.Count())
		}
	}
}

// TestBatchInitPanics recovers from a panic of init: no entity has got what a dead one had.
func TestBatchInitPanics(t *testing.T) {
	for _, n := range []int{30, 300} {
		f := newFixture(t, world.Options{Shards: 1})
		health := world.Write[Health](f.World)
		require.NoError(t, f.creature.CreateN(f.World, 2*n, func(_ int, c *Creature) { c.Points = 666 }))
		f.Query().Destroy()
		f.Refresh()
		require.NoError(t, world.NewBundle[struct {
			Position
			Name
		}](f.World).CreateN(f.World, n, nil))
		require.PanicsWithValue(t, "init", func() {
			_ = f.health.AddTo(f.Query(world.Without[Health](f.World)), func(world.Chunk) { panic("init") })
		})
		have := 0
		for ch := range f.Query(health).Chunks() {
			for _, h := range health.Slice(ch) {
				require.Zero(t, h.Points)
				have++
			}
		}
		require.Equal(t, n, have)
	}
}

// TestCreateNInSystem creates many at once in a system, by values and by rows.
func TestCreateNInSystem(t *testing.T) {
	type text string
	type both struct {
		changeA
		changeB
		text
	}
	w := world.MustNew(world.Options{Shards: 3})
	world.Register[changeA](w, "a")
	world.Register[changeB](w, "b")
	world.Register[text](w, "text")
	pair, mixed := world.NewBundle[changePair](w), world.NewBundle[both](w)
	n := 0
	create := (func(b *world.Build) func(*world.Context) {
		b.Creates(pair, mixed)
		as := world.Write[changeA](b)
		var made []handle.Handle
		init := func(i int, v *changePair) { v.A = changeA{int64(n + i)} }
		initMixed := func(i int, v *both) { v.changeA, v.text = changeA{int64(n + i)}, "text" }
		rows := func(rows world.Chunk) {
			for i := range as.Slice(rows) {
				as.Slice(rows)[i] = changeA{int64(i)}
			}
			n += rows.Len()
		}
		return func(c *world.Context) {
			var err error
			n = 0
			made, err = pair.AppendN(made[:0], c, 300, init)
			require.NoError(t, err)
			for i, h := range made {
				require.Equal(t, changeA{int64(i)}, *as.Get(h))
				require.Equal(t, c.Shard(), func() int { owner, _ := c.Owner(h); return owner }())
			}
			require.NoError(t, mixed.CreateN(c, 300, initMixed))
			require.NoError(t, pair.CreateRows(c, 200, rows))
			require.Equal(t, 200, n)
			for _, h := range made {
				c.Destroy(h)
			}
		}
	})
	f := fixture{World: w, t: t}
	for range 3 {
		f.tick(create)
	}
	require.Equal(t, 3*3*500, w.Count())
	seen := 0
	for ch := range w.Query(world.With[text](w)).Chunks() {
		for _, x := range world.Read[text](w).Slice(ch) {
			require.Equal(t, text("text"), x)
			seen++
		}
	}
	require.Equal(t, 3*3*300, seen)
}

// TestCreateNPanics panics in the middle of what is filled in: what was filled in before is
// there, and the rest of its rows hold zeroes. The next call works.
func TestCreateNPanics(t *testing.T) {
	w := world.MustNew(world.Options{Shards: 1})
	world.Register[changeA](w, "a")
	world.Register[changeB](w, "b")
	pair := world.NewBundle[changePair](w)
	require.PanicsWithValue(t, "stop", func() {
		_ = pair.CreateN(w, 1000, func(i int, v *changePair) {
			if i == 700 {
				panic("stop")
			}
			v.A.N = 5
			if i == 300 { // a create within a create
				require.NoError(t, pair.CreateN(w, 10, func(_ int, v *changePair) { v.A.N = 7 }))
			}
		})
	})
	count := map[int64]int{}
	for ch := range w.Query(world.With[changeA](w)).Chunks() {
		for _, a := range world.Read[changeA](w).Slice(ch) {
			count[a.N]++
		}
	}
	require.Equal(t, map[int64]int{5: 700, 7: 10, 0: 300}, count)
	require.NoError(t, pair.CreateN(w, 5, func(_ int, v *changePair) { v.A.N = 9 }))
	require.PanicsWithValue(t, "world: bundle world_test.changePair: Bundle.CreateRows with a nil init; use Bundle.CreateN, which needs none", func() { _ = pair.CreateRows(w, 1, nil) })
	port, err := w.OpenPort()
	require.NoError(t, err)
	require.PanicsWithValue(t, "world: bundle world_test.changePair: Bundle.CreateRows by a *Port, which has no rows; use Bundle.CreateN", func() { _ = pair.CreateRows(port, 1, func(world.Chunk) {}) })
}
