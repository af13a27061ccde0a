package world_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/world"
)

type (
	changeA struct{ N int64 }
	changeB struct{ S string }
	changeC struct{ P *int64 }
	changeT struct{}
)

type changePair struct {
	A changeA
	B changeB
}

// changeModel is what an entity should have.
type changeModel struct {
	a          int64
	b          string
	c          int64
	ha, hb, hc bool
	ht         bool
	marked     bool
}

// TestChangeAgainstModel adds, removes and exchanges components at random, with
// marks and refreshes between, and compares everything with maps.
func TestChangeAgainstModel(t *testing.T) {
	steps := 4000
	if testing.Short() || check.Enabled {
		steps = 500
	}
	for seed := range uint64(4) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			w := world.MustNew(world.Options{Shards: 1 + int(seed), VersionMax: 7})
			a := world.Register[changeA](w, "a")
			b := world.Register[changeB](w, "b")
			c := world.Register[changeC](w, "c")
			tag := world.Register[changeT](w, "tag")
			pair := world.NewBundle[changePair](w)
			ra, rb, rc := world.Read[changeA](w), world.Read[changeB](w), world.Read[changeC](w)
			model := map[handle.Handle]*changeModel{}
			var all []handle.Handle
			check := func() {
				for h, m := range model {
					require.True(t, w.Alive(h))
					require.Equal(t, m.ha, w.Has(h, a))
					require.Equal(t, m.ht, w.Has(h, tag))
					if p := ra.Get(h); m.ha {
						require.Equal(t, m.a, p.N)
					} else {
						require.Nil(t, p)
					}
					if p := rb.Get(h); m.hb {
						require.Equal(t, m.b, p.S)
					} else {
						require.Nil(t, p)
					}
					if p := rc.Get(h); m.hc {
						require.Equal(t, m.c, *p.P)
					} else {
						require.Nil(t, p)
					}
					require.Equal(t, m.marked, w.Status(h) == world.Dying)
				}
				require.Equal(t, len(model), w.Count())
			}
			for range steps {
				if len(all) == 0 || rng.IntN(4) == 0 {
					h, err := pair.Create(w, changePair{changeA{1}, changeB{"x"}})
					require.NoError(t, err)
					all = append(all, h)
					model[h] = &changeModel{a: 1, b: "x", ha: true, hb: true}
					continue
				}
				h, n := all[rng.IntN(len(all))], rng.Int64()
				m, alive := model[h]
				want := func(err error, has bool) {
					switch {
					case !alive:
						require.ErrorIs(t, err, world.ErrStale)
					case !has:
						require.ErrorIs(t, err, world.ErrMissing)
					default:
						require.NoError(t, err)
					}
				}
				if !alive {
					m = &changeModel{}
				}
				switch rng.IntN(10) {
				case 0:
					want(a.Add(w, h, changeA{n}), true)
					m.a, m.ha = n, true
				case 1:
					want(a.Remove(w, h), m.ha)
					m.ha = false
				case 2:
					want(b.Add(w, h, changeB{fmt.Sprint(n)}), true)
					m.b, m.hb = fmt.Sprint(n), true
				case 3:
					want(b.Remove(w, h), m.hb)
					m.hb = false
				case 4:
					want(c.Add(w, h, changeC{&n}), true)
					m.c, m.hc = n, true
				case 5:
					want(pair.Add(w, h, changePair{changeA{n}, changeB{"y"}}, c, tag), true)
					m.a, m.b, m.ha, m.hb, m.hc, m.ht = n, "y", true, true, false, false
				case 6:
					want(tag.Add(w, h, changeT{}), true)
					m.ht = true
				case 7:
					want(tag.Remove(w, h), m.ht)
					m.ht = false
				case 8:
					require.Equal(t, alive && !m.marked, w.Destroy(h))
					m.marked = true
				case 9:
					if rng.IntN(10) == 0 {
						check()
						w.Refresh()
						for h, m := range model {
							if m.marked {
								delete(model, h)
							}
						}
						check()
					}
				}
			}
			check()
		})
	}
}

// TestChangeRequests adds and removes through a port, and tells what became of
// it.
func TestChangeRequests(t *testing.T) {
	w := world.MustNew(world.Options{})
	a := world.Register[changeA](w, "a")
	b := world.Register[changeB](w, "b")
	pair := world.NewBundle[changePair](w)
	h, err := pair.Create(w, changePair{changeA{1}, changeB{"x"}})
	require.NoError(t, err)
	p, err := w.OpenPort()
	require.NoError(t, err)
	var first, second, third, fourth world.Completion
	require.NoError(t, a.Remove(p.Notify(&first), h))
	require.NoError(t, a.Remove(p.Notify(&second), h))
	require.NoError(t, a.Add(p.Notify(&third), h, changeA{5}))
	require.NoError(t, pair.Add(p.Notify(&fourth), h, changePair{A: changeA{6}}, b))
	require.True(t, w.Has(h, a), "nothing happens before the refresh")
	w.Refresh()
	require.Equal(t, world.Applied, first.Outcome())
	require.Equal(t, world.Missing, second.Outcome())
	require.Equal(t, world.Applied, third.Outcome())
	require.Equal(t, world.Applied, fourth.Outcome())
	require.Equal(t, changeA{6}, *world.Read[changeA](w).Get(h))
	require.Equal(t, changeB{}, *world.Read[changeB](w).Get(h), "what is added and removed is added")
	w.Destroy(h)
	w.Refresh()
	require.NoError(t, a.Add(p.Notify(&first), h, changeA{5}))
	w.Refresh()
	require.Equal(t, world.Gone, first.Outcome())
	mustPanic(t, []string{"world: Component.Add by the World inside a query loop would move the rows it walks; call it after the loop"}, func() {
		h, _ := pair.Create(w, changePair{})
		for range w.Query(world.With[changeA](w)).Chunks() {
			_ = a.Add(w, h, changeA{})
		}
	})
}
