package world_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// batchWorld is a world of four components, of numbers, text, pointers and
// nothing, and what its entities should be.
type batchWorld struct {
	*world.World
	t     *testing.T
	a     *world.Component[changeA]
	b     *world.Component[changeB]
	c     *world.Component[changeC]
	tag   *world.Component[changeT]
	pair  *world.Bundle[changePair]
	odd   *world.Bundle[batchOdd]
	wa    *world.Writer[changeA]
	wb    *world.Writer[changeB]
	wc    *world.Writer[changeC]
	model map[handle.Handle]batchEntity
	next  int64
}

type batchOdd struct {
	C changeC
	B changeB
	T changeT
}

// batchEntity is what an entity should have: nil, or a value.
type batchEntity struct {
	a, b, c, tag   bool
	na, nb, nc     int64
	marked, hidden bool
}

func newBatchWorld(t *testing.T, o world.Options) *batchWorld {
	w := world.MustNew(o)
	return &batchWorld{
		World: w, t: t, model: map[handle.Handle]batchEntity{},
		a: world.Register[changeA](w, "a"), b: world.Register[changeB](w, "b"),
		c: world.Register[changeC](w, "c"), tag: world.Register[changeT](w, "tag"),
		pair: world.NewBundle[changePair](w), odd: world.NewBundle[batchOdd](w),
		wa: world.Write[changeA](w), wb: world.Write[changeB](w), wc: world.Write[changeC](w),
	}
}

// fill writes what is new to the rows, which must be zero, and what should be.
func (w *batchWorld) fill(rows world.Chunk, a, b, c bool) {
	as, bs, cs := w.wa.Slice(rows), w.wb.Slice(rows), w.wc.Slice(rows)
	for i, h := range rows.Handles() {
		m := w.model[h]
		w.next++
		if a && !m.a {
			require.Zero(w.t, as[i])
			as[i].N, m.na = w.next, w.next
		}
		if b && !m.b {
			require.Zero(w.t, bs[i])
			bs[i].S, m.nb = fmt.Sprint(w.next), w.next
		}
		if c && !m.c {
			require.Zero(w.t, cs[i])
			n := w.next
			cs[i].P, m.nc = &n, w.next
		}
		m.a, m.b, m.c = m.a || a, m.b || b, m.c || c
		w.model[h] = m
	}
}

// mustBe compares every entity with the model.
func (w *batchWorld) mustBe() {
	w.t.Helper()
	require.Equal(w.t, len(w.model), w.Count())
	for h, m := range w.model {
		require.Equal(w.t, [4]bool{m.a, m.b, m.c, m.tag}, [4]bool{w.Has(h, w.a), w.Has(h, w.b), w.Has(h, w.c), w.Has(h, w.tag)}, "%v", h)
		require.Equal(w.t, m.marked, w.Status(h) == world.Dying)
		require.Equal(w.t, m.hidden, world.FlagsOf(w.World, h) == hidden)
		if m.a {
			require.Equal(w.t, m.na, w.wa.Get(h).N)
		}
		if m.b {
			require.Equal(w.t, fmt.Sprint(m.nb), w.wb.Get(h).S)
		}
		if m.c {
			require.Equal(w.t, m.nc, *w.wc.Get(h).P)
		}
	}
}

// chosen returns who the query means, in order.
func chosen(q *world.Query) []handle.Handle {
	all := []handle.Handle{}
	for ch := range q.Chunks() {
		all = append(all, ch.Handles()...)
	}
	return all
}

// TestBatchOfQueries changes what queries match, whole and the first n of them,
// some entities hidden from them, and compares everything with a map.
func TestBatchOfQueries(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 5))
			w := newBatchWorld(t, world.Options{Shards: 1 + int(seed%3), KeepOrder: seed%2 == 1})
			shown := world.WithoutFlags(w.World, hidden)
			queries := []*world.Query{
				w.Query(shown), w.Query(w.wa, shown), w.Query(w.wb, world.Without[changeC](w.World), shown),
				w.Query(world.Without[changeA](w.World)), w.Query(world.AnyOf(w.wb, w.wc), shown), w.Query(world.With[changeT](w.World)),
			}
			for range iterations(120) + 10 {
				q := queries[rng.IntN(len(queries))]
				all := chosen(q)
				if rng.IntN(2) == 0 {
					n := rng.IntN(len(all)*5/4 + 2)
					q = q.Limit(n)
					all = all[:min(n, len(all))]
					require.Equal(t, all, chosen(q), "Limit is about the first")
					require.Equal(t, len(all), q.Count())
				}
				told := map[handle.Handle]bool{}
				init := func(a, b, c bool) func(world.Chunk) {
					return func(rows world.Chunk) {
						for _, h := range rows.Handles() {
							require.False(t, told[h], "told twice of %v", h)
							told[h] = true
						}
						w.fill(rows, a, b, c)
					}
				}
				// change makes the model what the chosen should be, and sees that
				// init was told of just those who changed.
				change := func(tells bool, to func(m *batchEntity)) {
					for _, h := range all {
						was := w.model[h]
						m := was
						to(&m)
						w.model[h] = m
						if tells {
							require.True(t, told[h] || was == m, "%v: %+v", h, m)
							delete(told, h)
						}
					}
					require.Empty(t, told, "told of others")
				}
				switch rng.IntN(9) {
				case 0:
					require.NoError(t, w.pair.CreateRows(w.World, rng.IntN(300), func(rows world.Chunk) {
						w.fill(rows, true, true, false)
					}))
				case 1:
					require.NoError(t, w.odd.AddTo(q, init(false, true, true)))
					change(true, func(m *batchEntity) { m.b, m.c, m.tag = true, true, true })
				case 2:
					require.NoError(t, w.pair.AddTo(q, init(true, true, false)))
					change(true, func(m *batchEntity) { m.a, m.b = true, true })
				case 3:
					require.NoError(t, q.Remove(w.odd))
					change(false, func(m *batchEntity) { m.b, m.c, m.tag = false, false, false })
				case 4:
					require.NoError(t, w.pair.AddTo(q, init(true, true, false), w.c, w.tag))
					change(true, func(m *batchEntity) { m.a, m.b, m.c, m.tag = true, true, false, false })
				case 5:
					require.NoError(t, q.Remove(w.a, w.tag))
					change(false, func(m *batchEntity) { m.a, m.tag = false, false })
				case 6:
					fresh := 0
					for _, h := range all {
						if !w.model[h].marked {
							fresh++
						}
					}
					require.Equal(t, fresh, q.Destroy())
					change(false, func(m *batchEntity) { m.marked = true })
				case 7:
					w.Refresh()
					for h, m := range w.model {
						if m.marked {
							delete(w.model, h)
						}
					}
				case 8:
					for range rng.IntN(10) {
						if len(all) > 0 {
							h := all[rng.IntN(len(all))]
							require.NoError(t, world.AddFlags(w.World, h, hidden))
							m := w.model[h]
							m.hidden = true
							w.model[h] = m
						}
					}
				}
				w.mustBe()
			}
		})
	}
}

// TestBatchInit creates and asks within init, and tries what would move rows.
func TestBatchInit(t *testing.T) {
	for _, some := range []bool{false, true} {
		f := newFixture(t, world.Options{Shards: 1})
		all := f.newUnits(100)
		names := world.Write[Name](f.World)
		q := f.Query(world.With[Health](f.World), world.Without[Name](f.World))
		if some {
			q = q.Limit(60)
		}
		type named struct {
			Health
			Name
		}
		whole := world.NewBundle[named](f.World)
		came := 0
		require.NoError(t, f.name.AddTo(q, func(rows world.Chunk) {
			came += rows.Len()
			for i := range rows.Len() {
				require.Empty(t, names.Slice(rows)[i].Text)
				names.Slice(rows)[i].Text = "came"
			}
			for range 50 { // into the table the rows go to
				_, err := whole.Create(f.World, named{Name: Name{"created"}})
				require.NoError(t, err)
			}
			for call, run := range map[string]func(){
				"World.Refresh": f.Refresh, "Component.Add by the World": func() { _ = f.frozen.Add(f.World, all[0], Frozen{}) },
				"Component.AddTo": func() { _ = f.frozen.AddTo(q, nil) },
			} {
				mustPanic(t, []string{call + " inside a query loop", "call it after the loop"}, run)
			}
		}))
		want := 100
		if some {
			want = 60
		}
		require.Equal(t, want, came, "what init creates is not among what came")
		texts := map[string]int{}
		for ch := range f.Query(names).Chunks() {
			for _, n := range names.Slice(ch) {
				texts[n.Text]++
			}
		}
		require.Equal(t, want, texts["came"])
		require.Positive(t, texts["created"])
		require.Equal(t, 2, len(texts))
		f.Refresh() // the loop is over
	}
}

// TestBatchLimitInSystem limits a system's query.
func TestBatchLimitInSystem(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	f.newUnits(300)
	f.tick(func(b *world.Build) func(*world.Context) {
		q := b.Query(world.Read[Health](b))
		some := q.Limit(20).Limit(30)
		return func(c *world.Context) {
			seen := chosen(some)
			require.Len(t, seen, 20)
			require.Equal(t, chosen(q)[:20], seen)
			require.Equal(t, 20, some.Count())
			for range some.Chunks() {
				break
			}
			require.Empty(t, chosen(q.Limit(0)))
			require.Equal(t, seen[:1], chosen(q.Limit(1)))
		}
	})
}

// TestBatchOfQueriesAllocatesNothing repeats all of it, whole and in part.
func TestBatchOfQueriesAllocatesNothing(t *testing.T) {
	w := newBatchWorld(t, world.Options{Shards: 2})
	withB, withoutB := w.Query(world.With[changeB](w.World)), w.Query(world.Without[changeB](w.World))
	all := w.Query()
	some, few := withB.Limit(700), withoutB.Limit(30)
	init := func(world.Chunk) {}
	cycle := func() {
		_ = w.pair.CreateN(w.World, 3000, nil)
		_ = some.Remove(w.odd)
		_ = w.odd.AddTo(few, init)
		_ = w.odd.AddTo(withoutB, init)
		_ = w.pair.AddTo(all, init, w.tag, w.c)
		_ = all.Remove(w.a, w.b)
		some.Destroy()
		all.Destroy()
		w.Refresh()
	}
	for range 10 {
		cycle()
	}
	require.Zero(t, testing.AllocsPerRun(20, cycle))
	require.Empty(t, chosen(all))
}

// TestBatchChunksDoNotPileUp sends rows always the same way, from table to table
// to death: after a while no chunk is made any more.
func TestBatchChunksDoNotPileUp(t *testing.T) {
	w := newBatchWorld(t, world.Options{Shards: 2})
	var stats world.Stats
	cycle := func() int {
		require.NoError(t, w.pair.CreateN(w.World, 20_000, nil))
		require.NoError(t, w.c.AddTo(w.Query(w.wa), nil))
		require.NoError(t, w.Query(w.wa).Remove(w.a))
		w.Query().Destroy()
		w.Refresh()
		w.Stats(&stats)
		return stats.Chunks
	}
	for range 5 {
		cycle()
	}
	was, bytes := cycle(), stats.BytesReserved
	for range 10 {
		require.Equal(t, was, cycle())
		require.Equal(t, bytes, stats.BytesReserved)
	}
}
