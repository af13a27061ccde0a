package world_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// TestKeepOrder destroys at random and sees that the living stay in order, with
// their components.
func TestKeepOrder(t *testing.T) {
	for seed := range uint64(iterations(20) + 3) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 3))
			w := world.MustNew(world.Options{Shards: 1 + int(seed%3), KeepOrder: true})
			world.Register[changeA](w, "a")
			world.Register[changeB](w, "b")
			pair := world.NewBundle[changePair](w)
			a, b := world.Read[changeA](w), world.Read[changeB](w)
			q := w.Query(a, b)
			order := func() (all []handle.Handle) {
				for ch := range q.Chunks() {
					for i, h := range ch.Handles() {
						if n, s := &a.Slice(ch)[i], b.Slice(ch)[i].S; fmt.Sprint(n.N) != s || a.Get(h) != n {
							t.Fatalf("%v: %d and %q, at %p and %p", h, n.N, s, n, a.Get(h))
						}
						all = append(all, h)
					}
				}
				return all
			}
			for range 12 {
				for range rng.IntN(1500) {
					n := rng.Int64N(1000)
					_, err := pair.Create(w, changePair{changeA{n}, changeB{fmt.Sprint(n)}})
					require.NoError(t, err)
				}
				before := order()
				share := []float64{0, 0.01, 0.5, 0.99, 1}[rng.IntN(5)]
				kept := slices.DeleteFunc(slices.Clone(before), func(h handle.Handle) bool {
					return rng.Float64() < share && w.Destroy(h)
				})
				w.Refresh()
				require.Equal(t, len(kept), w.Count())
				after := order()
				require.True(t, slices.Equal(kept, after), "order changed")
				for _, h := range before {
					require.Equal(t, slices.Contains(kept, h), w.Alive(h))
					if len(before) > 300 {
						break
					}
				}
			}
		})
	}
}

// TestCopy copies entities, and sees that copies are entities of their own.
func TestCopy(t *testing.T) {
	w := world.MustNew(world.Options{})
	world.Register[changeA](w, "a")
	world.Register[changeB](w, "b")
	pair := world.NewBundle[changePair](w)
	a, b := world.Write[changeA](w), world.Write[changeB](w)
	h, err := pair.Create(w, changePair{changeA{1}, changeB{"x"}})
	require.NoError(t, err)
	twin, err := world.Copy(w, h)
	require.NoError(t, err)
	require.NotEqual(t, h, twin)
	a.Get(h).N = 2
	require.Equal(t, changeA{1}, *a.Get(twin))
	require.Equal(t, changeB{"x"}, *b.Get(twin))
	w.Destroy(h)
	w.Refresh()
	require.True(t, w.Alive(twin))
	_, err = world.Copy(w, h)
	require.ErrorIs(t, err, world.ErrStale)
}

// TestAnyOf asks for those that have one of several components.
func TestAnyOf(t *testing.T) {
	w := world.MustNew(world.Options{})
	a := world.Register[changeA](w, "a")
	b := world.Register[changeB](w, "b")
	world.Register[changeC](w, "c")
	pair := world.NewBundle[changePair](w)
	ra, rb := world.Read[changeA](w), world.Read[changeB](w)
	either := w.Query(world.AnyOf(ra, rb), world.Without[changeC](w))
	require.Zero(t, either.Count())
	h, err := pair.Create(w, changePair{})
	require.NoError(t, err)
	require.NoError(t, a.Remove(w, h))
	require.Equal(t, []handle.Handle{h}, chosen(either))
	g, err := pair.Create(w, changePair{})
	require.NoError(t, err)
	require.Equal(t, 2, either.Count())
	require.NoError(t, b.Remove(w, h))
	require.NoError(t, b.Remove(w, g))
	require.Equal(t, 1, either.Count())
	for ch := range either.Chunks() {
		require.Nil(t, rb.Slice(ch))
		require.NotNil(t, ra.Slice(ch))
	}
	require.PanicsWithValue(t, "world: AnyOf takes one or more of Reader, Writer and With", func() { world.AnyOf() })
	require.PanicsWithValue(t, "world: AnyOf takes one or more of Reader, Writer and With", func() { world.AnyOf(world.Without[changeA](w)) })
	require.PanicsWithValue(t, `world: World.Query: component "a" is named twice; name it once`, func() { w.Query(ra, world.AnyOf(ra, rb)) })
}
