package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// The components of the third source document's tests.
type (
	chunkOne   = Kind0
	chunkTwo   = Kind1
	chunkThree = Kind7

	chunkItem struct {
		One   chunkOne
		Two   chunkTwo
		Three chunkThree
	}
	chunkTwoOfThree struct {
		Three chunkThree
		One   chunkOne
	}
)

// TestSourceChunk is the third source document: a chunk of an archetype.
func TestSourceChunk(t *testing.T) {
	build := func(t *testing.T) (w *world.World, one *world.Writer[chunkOne], two *world.Writer[chunkTwo], add func(i int) handle.Handle) {
		w = world.MustNew(world.Options{Shards: 1})
		world.Register[chunkOne](w, "one")
		world.Register[chunkTwo](w, "two")
		world.Register[chunkThree](w, "three")
		items := world.NewBundle[chunkItem](w)
		return w, world.Write[chunkOne](w), world.Write[chunkTwo](w), func(i int) handle.Handle {
			h, err := items.Create(w, chunkItem{One: chunkOne{int64(i)}})
			require.NoError(t, err)
			return h
		}
	}
	for _, c := range []struct {
		name string
		test func(t *testing.T)
	}{
		{"an empty one", func(t *testing.T) {
			w, _, _, _ := build(t)
			require.Zero(t, w.Count())
			require.Zero(t, w.Query().Count())
		}},
		{"add", func(t *testing.T) {
			w, one, _, add := build(t)
			id := add(7)
			require.True(t, w.Alive(id))
			require.Equal(t, 1, w.Count())
			require.Equal(t, 7, int(one.Get(id).N))
		}},
		{"remove", func(t *testing.T) {
			w, _, _, add := build(t)
			id := add(7)
			require.True(t, w.Destroy(id))
			w.Refresh()
			require.False(t, w.Alive(id))
			require.Zero(t, w.Count(), "the count goes down")
			require.Zero(t, w.Query().Count())
		}},
		{"assign one component", func(t *testing.T) {
			w, one, two, add := build(t)
			id, other := add(1), add(2)
			two.Get(id).N = 5
			require.Equal(t, chunkTwo{5}, *two.Get(id))
			require.Equal(t, []int{1, 2, 0}, []int{int(one.Get(id).N), int(one.Get(other).N), int(two.Get(other).N)}, "and nothing else")
			require.Equal(t, 2, w.Count())
		}},
		{"assign any of the components at once", func(t *testing.T) {
			w, one, two, add := build(t)
			some := world.NewBundle[chunkTwoOfThree](w) // in another order than the item's
			id, other := add(1), add(2)
			require.NoError(t, some.Add(w, id, chunkTwoOfThree{chunkThree{'x'}, chunkOne{10}}))
			require.Equal(t, chunkOne{10}, *one.Get(id))
			require.Equal(t, chunkThree{'x'}, *world.Read[chunkThree](w).Get(id))
			require.Equal(t, chunkTwo{0}, *two.Get(id), "what is not assigned stays")
			require.Equal(t, chunkOne{2}, *one.Get(other))
			require.Equal(t, 2, w.Query(one, two, world.With[chunkThree](w)).Count(), "both are where they were")
		}},
		{"the last fills the gap and is found there", func(t *testing.T) {
			w, one, _, add := build(t)
			ids := []handle.Handle{add(0), add(1), add(2), add(3)}
			gap := w.Locate(ids[1])
			w.Destroy(ids[1])
			w.Refresh()
			require.Equal(t, gap, w.Locate(ids[3]))
			for _, i := range []int{0, 2, 3} {
				require.Equal(t, i, int(one.Get(ids[i]).N))
			}
		}},
		{"an id that nobody was given", func(t *testing.T) {
			w, one, _, add := build(t)
			id := add(1)
			for _, unknown := range []handle.Handle{handle.None, id + 1, handle.New(0, id.Index()+1, 1), handle.New(0, handle.IndexMax, 1), handle.New(7, 0, 1)} {
				require.False(t, w.Alive(unknown))
				require.Nil(t, one.Get(unknown))
				require.False(t, w.Destroy(unknown))
			}
			w.Refresh()
			require.Equal(t, 1, w.Count())
		}},
		{"an old id removes nobody", func(t *testing.T) {
			w, one, _, add := build(t)
			old := add(1)
			w.Destroy(old)
			w.Refresh()
			tenant := add(2)
			require.Equal(t, old.Index(), tenant.Index(), "the place is used again")
			require.False(t, w.Destroy(old))
			require.Nil(t, one.Get(old))
			w.Refresh()
			require.True(t, w.Alive(tenant))
		}},
		{"more than a chunk holds", func(t *testing.T) {
			w, one, _, add := build(t)
			const n = 16 + 64 + 256 + 1 // the fourth chunk begins
			var ids []handle.Handle
			for i := range n {
				ids = append(ids, add(i))
			}
			var lengths []int
			for ch := range w.Query(one).Chunks() {
				lengths = append(lengths, ch.Len())
			}
			require.Equal(t, []int{16, 64, 256, 1}, lengths)
			for i, id := range ids {
				require.Equal(t, i, int(one.Get(id).N))
			}
		}},
	} {
		t.Run(c.name, c.test)
	}
}

// TestSourceDestroyTwice destroys entities twice, in one refresh and over two, by
// every actor: each slot is given once again, to one tenant.
func TestSourceDestroyTwice(t *testing.T) {
	for name, destroy := range map[string]func(f *fixture, h handle.Handle){
		"World": func(f *fixture, h handle.Handle) { f.Destroy(h) },
		"Context": func(f *fixture, h handle.Handle) {
			f.during("destroyer", int(h.Home()), func(c *world.Context) { _, _ = c.Destroy(h), c.Destroy(h) })
		},
		"Context elsewhere": func(f *fixture, h handle.Handle) {
			f.during("destroyer", 1-int(h.Home()), func(c *world.Context) { _, _ = c.Destroy(h), c.Destroy(h) })
		},
		"Port": func(f *fixture, h handle.Handle) {
			p := f.port()
			require.NoError(f.t, p.Destroy(h))
			require.NoError(f.t, p.Destroy(h))
			p.Close()
		},
		"release": func(f *fixture, h handle.Handle) {
			engine.Of(f.World).Liveness().Release(h)
			engine.Of(f.World).Liveness().Release(h)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, world.Options{Shards: 2})
			f.newUnits(3)
			for range 3 {
				h := f.newUnit(1)
				destroy(f, h)
				destroy(f, h)
				f.Refresh()
				destroy(f, h)
				f.Refresh()
				require.Equal(t, 3, f.Count())
				slots := map[uint32]bool{}
				for _, tenant := range f.newUnits(300) {
					slot := tenant.Home()<<handle.IndexBits | tenant.Index()
					require.False(t, slots[slot], "%v shares a slot", tenant)
					slots[slot] = true
					require.True(t, f.Alive(tenant))
				}
				require.Equal(t, 303, f.Count())
				for ch := range f.Query().Limit(300).Chunks() {
					for _, tenant := range ch.Handles() {
						f.Destroy(tenant)
					}
				}
				f.Refresh()
			}
		})
	}
}
