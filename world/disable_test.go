package world_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// disableModel is what an entity should have and what of it is disabled.
type disableModel struct {
	hasB, offA, offB, off, marked bool
}

// TestDisableAgainstModel disables, changes, destroys and refreshes at random,
// and compares what queries yield with a map.
func TestDisableAgainstModel(t *testing.T) {
	steps := iterations(60) + 20
	for seed := range uint64(6) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 4))
			w := world.MustNew(world.Options{Shards: 1 + int(seed%3), KeepOrder: seed%2 == 1})
			a := world.Register[changeA](w, "a")
			b := world.Register[changeB](w, "b")
			pair := world.NewBundle[changePair](w)
			ra, rb := world.Read[changeA](w), world.Read[changeB](w)
			model := map[handle.Handle]*disableModel{}
			var all []handle.Handle
			queries := []struct {
				q    *world.Query
				want func(*disableModel) bool
			}{
				{w.Query(), func(m *disableModel) bool { return !m.off }},
				{w.Query(ra), func(m *disableModel) bool { return !m.off && !m.offA }},
				{w.Query(ra, rb), func(m *disableModel) bool { return !m.off && !m.offA && m.hasB && !m.offB }},
				{w.Query(ra, world.Without[changeB](w)), func(m *disableModel) bool { return !m.off && !m.offA && !m.hasB }},
				{w.Query(world.Optional(rb)), func(m *disableModel) bool { return !m.off }},
			}
			check := func() {
				for i, x := range queries {
					want := 0
					for _, m := range model {
						if x.want(m) {
							want++
						}
					}
					seen := map[handle.Handle]bool{}
					for ch := range x.q.Chunks() {
						require.NotZero(t, ch.Len())
						for k, h := range ch.Handles() {
							require.False(t, seen[h])
							seen[h] = true
							if !x.want(model[h]) {
								t.Fatalf("query %d yields %v: %+v", i, h, *model[h])
							}
							if s := ra.Slice(ch); s != nil && &s[k] != ra.Get(h) {
								t.Fatalf("query %d: row %d is not that of %v", i, k, h)
							}
						}
					}
					require.Len(t, seen, want, "query %d", i)
					require.Equal(t, want, x.q.Count(), "query %d", i)
				}
			}
			for range steps {
				switch rng.IntN(6) {
				case 0:
					hs, err := pair.AppendN(nil, w, rng.IntN(400), nil)
					require.NoError(t, err)
					for _, h := range hs {
						model[h] = &disableModel{hasB: true}
					}
					all = append(all, hs...)
				case 1:
					w.Refresh()
					for h, m := range model {
						if m.marked {
							delete(model, h)
						}
					}
				case 2:
					require.NoError(t, b.RemoveFrom(w.Query(rb)))
					for _, m := range model {
						if !m.off && !m.offB { // what the query skips is left alone
							m.hasB = false
						}
					}
				case 3:
					require.NoError(t, b.AddTo(w.Query(world.Without[changeB](w)), nil))
					for _, m := range model {
						m.hasB = m.hasB || !m.off
					}
				default:
					for range rng.IntN(300) {
						if len(all) == 0 {
							break
						}
						h := all[rng.IntN(len(all))]
						m := model[h]
						if m == nil {
							require.ErrorIs(t, world.Disable(w, h), world.ErrStale)
							require.ErrorIs(t, a.Enable(w, h), world.ErrStale)
							continue
						}
						switch rng.IntN(8) {
						case 0:
							require.NoError(t, world.Disable(w, h))
							m.off = true
						case 1:
							require.NoError(t, world.Enable(w, h))
							m.off = false
						case 2:
							require.NoError(t, a.Disable(w, h))
							m.offA = true
						case 3:
							require.NoError(t, a.Enable(w, h))
							m.offA = false
						case 4:
							if err := b.Disable(w, h); m.hasB {
								require.NoError(t, err)
								m.offB = true
							} else {
								require.ErrorIs(t, err, world.ErrMissing)
							}
						case 5:
							require.NoError(t, b.Add(w, h, changeB{"z"}))
							m.hasB = true
						case 6:
							if b.Remove(w, h) == nil {
								m.hasB, m.offB = false, false
							}
						case 7:
							w.Destroy(h)
							m.marked = true
						}
						require.Equal(t, !m.off, w.Enabled(h))
						require.Equal(t, !m.off && m.hasB && !m.offB, w.Enabled(h, b))
					}
				}
				check()
			}
		})
	}
}

// TestDisableByRequest disables through a port: at the refresh, with an outcome.
func TestDisableByRequest(t *testing.T) {
	w := world.MustNew(world.Options{})
	a := world.Register[changeA](w, "a")
	world.Register[changeB](w, "b")
	c := world.Register[changeC](w, "c")
	pair := world.NewBundle[changePair](w)
	h, err := pair.Create(w, changePair{})
	require.NoError(t, err)
	p, err := w.OpenPort()
	require.NoError(t, err)
	var first, second, third world.Completion
	require.NoError(t, a.Disable(p.Notify(&first), h))
	require.NoError(t, c.Disable(p.Notify(&second), h))
	require.NoError(t, world.Disable(p.Notify(&third), h+1<<28))
	require.True(t, w.Enabled(h, a))
	w.Refresh()
	require.Equal(t, world.Applied, first.Outcome())
	require.Equal(t, world.Missing, second.Outcome())
	require.Equal(t, world.Gone, third.Outcome())
	require.False(t, w.Enabled(h, a))
	require.True(t, w.Enabled(h))
	twin, err := w.Copy(h)
	require.NoError(t, err)
	require.True(t, w.Enabled(twin, a), "a copy is enabled")
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_ = a.Enable(p, h)
		_ = world.Disable(p, h)
		w.Refresh()
	}))
}

// TestDisableAndChangeWhole disables a component and gives all its entities
// others at once, with lower numbers and with higher ones, and takes them away:
// it stays the one that is disabled.
func TestDisableAndChangeWhole(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	all := f.newUnits(200)
	for i, h := range all {
		if i%3 == 0 {
			require.NoError(t, f.health.Disable(f.World, h))
		}
	}
	check := func(others ...world.AnyComponent) {
		t.Helper()
		for i, h := range all {
			require.Equal(t, i%3 != 0, f.Enabled(h, f.health), "%v", h)
			require.True(t, f.Enabled(h, others...), "%v", h)
		}
	}
	everybody := f.Query(world.With[Health](f.World))
	healthy := f.Query(world.Optional(world.Read[Health](f.World)))
	check()
	require.NoError(t, f.position.AddTo(healthy, nil))
	check(f.position)
	require.NoError(t, f.name.AddTo(healthy, nil))
	check(f.position, f.name)
	require.NoError(t, f.position.RemoveFrom(healthy))
	check(f.name)
	require.Equal(t, 133, everybody.Count())
}
