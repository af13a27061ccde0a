package prefab_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/ext/reference"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestCopy copies an entity with its children, by an idle world and by a system.
func TestCopy(t *testing.T) {
	for _, by := range []string{"world", "system"} {
		t.Run(by, func(t *testing.T) {
			f := newFixture(t, world.Options{})
			called := names.New[string](f.w, "names", names.Options{})
			orc := f.orc()
			h, err := orc.Create(f.w)
			require.NoError(t, err)
			require.NoError(t, called.Bind(f.w, h, "Grom"))
			other, err := orc.Create(f.w)
			require.NoError(t, err)
			axe := f.holds.Read(f.w).At(h, 0)
			require.NoError(t, world.AddFlags(f.w, axe, 5))
			var slot notes
			slot.Of = []handle.Handle{other, axe}
			world.Write[notes](f.w).Get(h).Of = slot.Of
			copied := handle.None
			copyIt := func(by world.Actor) {
				var err error
				copied, err = prefab.Copy(by, h, f.holds, f.carries, f.holds)
				require.NoError(t, err)
			}
			if by == "world" {
				copyIt(f.w)
			} else {
				f.sched.MustAdd("copy", func(b *world.Build) func(*world.Context) {
					b.Creates(orc)
					return func(c *world.Context) {
						if c.Owns(h) {
							copyIt(c)
						}
					}
				})
				f.tick()
			}
			copiedAxe := f.holds.Read(f.w).At(copied, 0)
			require.NotEqual(t, axe, copiedAxe)
			require.Equal(t, world.Flags(5), world.FlagsOf(f.w, copiedAxe))
			require.Equal(t, []handle.Handle{other, axe}, get[notes](f, h).Of)
			require.Equal(t, []handle.Handle{other, copiedAxe}, get[notes](f, copied).Of)
			require.Equal(t, 1, called.Len())
			world.Write[notes](f.w).Get(copied).Of = []handle.Handle{copied, f.carries.Read(f.w).At(copied, 2)}
			f.mustBeOrc(copied)
			require.Equal(t, 9, f.w.Count())
		})
	}
}

// TestCopyPlaces copies lists with holes, with other numbers of places, and such that are not
// fixed.
func TestCopyPlaces(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 1})
	item := prefab.New(f.w, "item", prefab.With(f.damage, damage{1}))
	create := func() handle.Handle {
		h, err := item.Create(f.w)
		require.NoError(t, err)
		return h
	}
	bag, wide, free := create(), create(), create()
	require.NoError(t, f.holds.Put(f.w, wide, bag, 3))
	require.NoError(t, f.holds.Put(f.w, free, bag, 5))
	require.NoError(t, f.carries.SetPlaces(f.w, wide, 9))
	require.NoError(t, f.carries.Put(f.w, create(), wide, 7))
	require.NoError(t, f.carries.SetPlaces(f.w, free, 6))
	for range 6 {
		require.NoError(t, f.carries.AddChild(f.w, free, create()))
	}
	require.NoError(t, f.carries.SetPlaces(f.w, free, 0))
	copied, err := prefab.Copy(f.w, bag, f.holds, f.carries)
	require.NoError(t, err)
	shape := func(r *hierarchy.Reader, h handle.Handle) (taken []bool, fixed bool) {
		for _, c := range r.Children(h) {
			taken = append(taken, c != handle.None)
		}
		return taken, r.Fixed(h)
	}
	same := func(r *hierarchy.Relation, a, b handle.Handle) {
		t.Helper()
		wantTaken, wantFixed := shape(r.Read(f.w), a)
		taken, fixed := shape(r.Read(f.w), b)
		require.Equal(t, wantTaken, taken)
		require.Equal(t, wantFixed, fixed)
	}
	holds := f.holds.Read(f.w)
	same(f.holds, bag, copied)
	same(f.carries, wide, holds.At(copied, 3))
	same(f.carries, free, holds.At(copied, 5))
	require.Equal(t, 20, f.w.Count())
}

// TestCopyRefused copies what cannot be copied: nothing is made.
func TestCopyRefused(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2, IndexMax: 7, OutboxRequests: 5})
	owner := world.Register[struct{ Of reference.Owner }](f.w, "owner")
	orc := f.orc()
	h, err := orc.Create(f.w, prefab.In(0))
	require.NoError(t, err)
	_, err = prefab.Copy(f.w, handle.New(0, 5, 7), f.holds)
	require.ErrorIs(t, err, world.ErrStale)

	stranger := newFixture(t, world.Options{})
	require.Panics(t, func() { _, _ = prefab.Copy(nil, h) })
	require.PanicsWithValue(t, `prefab: Copy with a nil Relation; pass those of hierarchy.New`, func() { _, _ = prefab.Copy(f.w, h, nil) })
	require.PanicsWithValue(t, `prefab: Copy with relation "holds", which belongs to another world; use that world's own`, func() { _, _ = prefab.Copy(f.w, h, stranger.holds) })
	p, err := f.w.OpenPort()
	require.NoError(t, err)
	require.PanicsWithValue(t, `world: prefab.Copy by a *world.Port, which cannot look at an entity's components; pass a *World or a *Context`, func() { _, _ = prefab.Copy(p, h) })

	axe := f.holds.Read(f.w).At(h, 0)
	require.NoError(t, owner.Add(f.w, axe, struct{ Of reference.Owner }{}))
	_, err = prefab.Copy(f.w, h, f.holds)
	require.ErrorContains(t, err, `component "owner": it holds a reference.Owner`)
	require.NoError(t, owner.Remove(f.w, axe))
	count := f.w.Count()
	for range 3 { // the shard has 8 indexes
		_, err = prefab.Copy(f.w, h, f.holds, f.carries)
	}
	require.ErrorIs(t, err, world.ErrIndexes)
	require.Equal(t, count+3, f.w.Count())

	f.sched.MustAdd("copy", func(b *world.Build) func(*world.Context) {
		b.Creates(orc)
		return func(c *world.Context) {
			_, err := prefab.Copy(c, h, f.holds, f.carries)
			if c.Shard() != 0 {
				require.ErrorIs(t, err, world.ErrStale)
				return
			}
			require.ErrorIs(t, err, world.ErrIndexes)
			for range 3 { // they may ask for five places
				require.NoError(t, f.holds.Add(c, h))
			}
			_, err = prefab.Copy(c, h, f.holds, f.carries)
			require.ErrorIs(t, err, world.ErrFull)
		}
	})
	f.tick()
	require.Equal(t, count+3, f.w.Count())
}

// TestCopyInAllShards copies in each shard while the others create. The race detector looks.
func TestCopyInAllShards(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 4})
	orc := f.orc()
	roots := make([]handle.Handle, 4)
	for i := range roots {
		var err error
		roots[i], err = orc.Create(f.w, prefab.In(i))
		require.NoError(t, err)
	}
	f.sched = scheduler.New(f.w, scheduler.Options{Workers: 4})
	f.sched.MustAdd("copy", func(b *world.Build) func(*world.Context) {
		b.Creates(orc)
		return func(c *world.Context) {
			for range 100 {
				h, err := prefab.Copy(c, roots[c.Shard()], f.holds, f.carries)
				require.NoError(t, err)
				require.NoError(t, c.Destroy(h))
				h, err = orc.Create(c)
				require.NoError(t, err)
				require.NoError(t, c.Destroy(h))
			}
		}
	})
	for range 3 {
		f.tick()
	}
}

// TestCopyLongList copies lists that AddChild has made longer than SetPlaces and Put may.
func TestCopyLongList(t *testing.T) {
	for name, o := range map[string]hierarchy.Options{
		"no longer fixed": {Places: 2, PlacesMax: 2},
		"with a hole":     {PlacesMax: 2, OnChildDeath: hierarchy.Hole},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, world.Options{Shards: 1})
			r := hierarchy.New(f.w, "long", o)
			hs, err := world.NewBundle[struct{ place }](f.w).AppendN(nil, f.w, 7, nil)
			require.NoError(t, err)
			require.NoError(t, r.AddChild(f.w, hs[0], hs[1]))
			if o.Places > 0 {
				require.NoError(t, r.SetPlaces(f.w, hs[0], 0))
			}
			for _, h := range hs[2:] {
				require.NoError(t, r.AddChild(f.w, hs[0], h))
			}
			f.w.Destroy(hs[3])
			f.w.Refresh()
			h, err := prefab.Copy(f.w, hs[0], r)
			require.NoError(t, err)
			copies := []handle.Handle{h}
			f.sched.MustAdd("copy", func(b *world.Build) func(*world.Context) {
				world.Write[place](b)
				return func(c *world.Context) {
					h, err := prefab.Copy(c, hs[0], r)
					require.NoError(t, err)
					copies = append(copies, h)
				}
			})
			f.tick()
			read := r.Read(f.w)
			for _, h := range copies {
				require.Equal(t, 5, read.Count(h))
				require.Equal(t, len(read.Children(hs[0])), len(read.Children(h)))
				require.Equal(t, read.Fixed(hs[0]), read.Fixed(h))
				for at := range len(read.Children(h)) {
					require.Equal(t, read.At(hs[0], at) == handle.None, read.At(h, at) == handle.None)
				}
			}
			require.Empty(t, read.Conflicts())
			require.ErrorIs(t, r.SetPlaces(f.w, copies[0], 3), hierarchy.ErrPlace, "the limit is as it was")
		})
	}
}
