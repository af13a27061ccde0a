package hierarchy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/reference"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// family is a fixture with a root that has the parent between two others, and
// three children in three shards, the first of which has one of its own.
type family struct {
	*fixture
	root, before, parent, after handle.Handle
	children                    []handle.Handle
	grandchild                  handle.Handle
}

func newFamily(t testing.TB, o hierarchy.Options) *family {
	f := newFixture(t, 3, o)
	h := f.make(8)
	f.add(h[0], h[1], h[2], h[3])
	f.add(h[2], h[4:7]...)
	f.add(h[4], h[7])
	return &family{f, h[0], h[1], h[2], h[3], h[4:7], h[7]}
}

// kills are the ways of destroying an entity.
var kills = map[string]func(f *family, h handle.Handle){
	"world": func(f *family, h handle.Handle) {
		require.True(f.t, f.Destroy(h))
		f.Refresh()
	},
	"own system":   func(f *family, h handle.Handle) { f.tick(on(h, func(c *world.Context) { _ = c.Destroy(h) })) },
	"other system": func(f *family, h handle.Handle) { f.tick(func(c *world.Context) { _ = c.Destroy(h) }) },
	"port": func(f *family, h handle.Handle) {
		require.NoError(f.t, f.port().Destroy(h))
		f.Refresh()
	},
	"query": func(f *family, h handle.Handle) { // all but the ones to be spared
		f.tick(func(c *world.Context) {
			if c.Owns(h) {
				_ = c.Destroy(h)
			}
		})
	},
}

func TestPolicyDestroy(t *testing.T) {
	for name, kill := range kills {
		t.Run(name, func(t *testing.T) {
			f := newFamily(t, hierarchy.Options{OnParentDeath: hierarchy.Destroy})
			kill(f, f.parent)
			for _, h := range append(f.children, f.parent, f.grandchild) {
				require.False(t, f.Alive(h), "in the same refresh, in whatever shard")
				require.False(t, f.read.Has(h))
			}
			require.Equal(t, list(f.before, f.after), f.read.Children(f.root))
			require.Equal(t, 3, f.Count())
			require.Equal(t, 2, f.rel.Links())
			f.sound()
		})
	}
}

func TestPolicyOrphan(t *testing.T) {
	for name, kill := range kills {
		t.Run(name, func(t *testing.T) {
			f := newFamily(t, hierarchy.Options{OnParentDeath: hierarchy.Orphan, OnChildDeath: hierarchy.Hole})
			kill(f, f.parent)
			require.False(t, f.Alive(f.parent))
			for _, h := range f.children {
				require.True(t, f.Alive(h))
				require.Equal(t, handle.None, f.read.Parent(h))
			}
			require.Equal(t, list(f.grandchild), f.read.Children(f.children[0]), "it keeps its own")
			require.False(t, f.read.Has(f.children[1]), "nothing holds it in the relation")
			require.Equal(t, list(f.before, handle.None, f.after), f.read.Children(f.root), "the place becomes a hole")
			f.sound()
		})
	}
}

func TestPolicyGrandparent(t *testing.T) {
	for name, kill := range kills {
		t.Run(name, func(t *testing.T) {
			f := newFamily(t, hierarchy.Options{OnParentDeath: hierarchy.Grandparent, OnChildDeath: hierarchy.Swap})
			kill(f, f.parent)
			require.False(t, f.Alive(f.parent))
			require.Equal(t, append(list(f.before, f.after), f.children...), f.read.Children(f.root))
			f.sound()
			kill(f, f.root)
			for _, h := range f.children {
				require.Equal(t, handle.None, f.read.Parent(h), "there was no grandparent")
			}
			f.sound()
		})
	}
}

// TestPolicyGrandparentDying gives the children to the nearest who lives, whatever
// the order of the dying, and not those who die themselves.
func TestPolicyGrandparentDying(t *testing.T) {
	for _, gap := range []hierarchy.Gap{hierarchy.Close, hierarchy.Hole, hierarchy.Swap} {
		f := newFixture(t, 3, hierarchy.Options{OnParentDeath: hierarchy.Grandparent, OnChildDeath: gap})
		h := f.make(9)
		for i := range h[1:] {
			f.add(h[i], h[i+1])
		}
		for _, i := range []int{5, 3, 2, 7, 4} {
			f.Destroy(h[i])
		}
		f.Refresh()
		f.sound()
		require.Equal(t, list(h[1]), f.read.Children(h[0]))
		require.Equal(t, []handle.Handle{h[6]}, f.living(h[1]))
		require.Equal(t, []handle.Handle{h[8]}, f.living(h[6]))
	}
}

// living lists the children without holes.
func (f *fixture) living(h handle.Handle) (all []handle.Handle) {
	for child := range f.read.Each(h) {
		all = append(all, child)
	}
	return all
}

func TestPolicyRefuse(t *testing.T) {
	for name, kill := range kills {
		t.Run(name, func(t *testing.T) {
			f := newFamily(t, hierarchy.Options{OnParentDeath: hierarchy.SpareParent})
			kill(f, f.parent)
			require.True(t, f.Alive(f.parent))
			require.Equal(t, world.Alive, f.Status(f.parent), "nor is it marked any more")
			require.Equal(t, f.children, f.read.Children(f.parent))
			require.Equal(t, []hierarchy.Conflict{{Change: "Destroy", Entity: f.parent, Err: hierarchy.ErrChildren}}, f.read.Conflicts())
			f.Refresh()
			require.Empty(t, f.read.Conflicts(), "they are of the last refresh alone")

			for _, h := range append(f.children[1:], f.grandchild) {
				f.Destroy(h)
			}
			kill(f, f.parent)
			require.True(t, f.Alive(f.parent), "one child lives")
			require.False(t, f.Alive(f.grandchild))
			f.Destroy(f.children[0])
			kill(f, f.parent)
			require.False(t, f.Alive(f.parent), "no child lives, dying ones do not count")
			f.sound()
		})
	}
}

// TestPolicyRefuseAncestors spares the dying ancestors of who is spared, too, and
// tells each port what became of its request.
func TestPolicyRefuseAncestors(t *testing.T) {
	f := newFamily(t, hierarchy.Options{OnParentDeath: hierarchy.SpareParent})
	p := f.port()
	var dones [5]world.Completion
	for i, h := range []handle.Handle{f.root, f.parent, f.children[0], f.children[1], f.parent} {
		require.NoError(t, p.Notify(&dones[i]).Destroy(h))
	}
	f.Refresh()
	want := []world.Outcome{world.Refused, world.Refused, world.Refused, world.Applied, world.Refused}
	for i := range dones {
		require.Equal(t, want[i], dones[i].Outcome(), "request %d", i)
	}
	require.True(t, f.Alive(f.root))
	require.True(t, f.Alive(f.children[0]))
	require.False(t, f.Alive(f.children[1]))
	require.Equal(t, list(f.children[0], f.children[2]), f.read.Children(f.parent))
	f.Clear()
	require.Zero(t, f.Count(), "Clear destroys all: no child is left that lives")
	require.Zero(t, f.rel.Links())
	f.sound()
}

// TestPolicyRefuseReleased: the last owner's release does not destroy who has a
// living child either. It has no owner then, and lives until it is destroyed.
func TestPolicyRefuseReleased(t *testing.T) {
	f := newFamily(t, hierarchy.Options{OnParentDeath: hierarchy.SpareParent})
	o := reference.Own(f.World, f.parent, nil)
	weak := o.Weak()
	o.Release()
	f.Refresh()
	require.True(t, f.Alive(f.parent))
	require.Equal(t, f.children, f.read.Children(f.parent))
	require.Equal(t, []hierarchy.Conflict{{Change: "Destroy", Entity: f.parent, Err: hierarchy.ErrChildren}}, f.read.Conflicts())
	require.True(t, weak.Alive())
	for _, h := range append(f.children, f.grandchild) {
		f.Destroy(h)
	}
	f.Refresh()
	f.Refresh()
	require.True(t, f.Alive(f.parent), "the release was used up")
	f.Destroy(f.parent)
	f.Refresh()
	require.False(t, f.Alive(f.parent))
	f.sound()
}

// TestPolicySeveralRelations lets relations with other policies meet.
func TestPolicySeveralRelations(t *testing.T) {
	f := newFixture(t, 3, hierarchy.Options{OnParentDeath: hierarchy.Destroy})
	attached := hierarchy.New(f.World, "attached", hierarchy.Options{OnParentDeath: hierarchy.Destroy})
	guild := hierarchy.New(f.World, "guild", hierarchy.Options{OnParentDeath: hierarchy.SpareParent})
	h := f.make(7)
	f.add(h[0], h[1])                                          // 1 dies with 0
	require.NoError(t, attached.AddChild(f.World, h[1], h[2])) // 2 with 1
	f.add(h[2], h[3])                                          // and 3 with 2, by the first relation again
	require.NoError(t, guild.AddChild(f.World, h[3], h[4]))    // 4 loses its master
	require.NoError(t, guild.AddChild(f.World, h[5], h[0]))    // the dying one leaves its place
	require.NoError(t, attached.AddChild(f.World, h[0], h[6]))
	f.Destroy(h[0])
	f.Refresh()
	for i, alive := range []bool{false, false, false, false, true, true, false} {
		require.Equal(t, alive, f.Alive(h[i]), "%d", i)
	}
	require.Equal(t, handle.None, guild.Read(f.World).Parent(h[4]))
	require.Empty(t, guild.Read(f.World).Children(h[5]))
	for _, r := range []*hierarchy.Relation{f.rel, attached, guild} {
		require.NoError(t, r.Verify())
		require.Zero(t, r.Links())
	}
}

// TestPolicyFixedGrandparent: a full list takes as many as there is place.
func TestPolicyFixedGrandparent(t *testing.T) {
	f := newFixture(t, 2, hierarchy.Options{OnParentDeath: hierarchy.Grandparent, Places: 3})
	h := f.make(7)
	f.add(h[0], h[1], h[2])
	f.add(h[1], h[3:6]...)
	f.Destroy(h[1])
	f.Refresh()
	require.Equal(t, list(h[3], h[2], h[4]), f.read.Children(h[0]), "its own place is free")
	require.Equal(t, handle.None, f.read.Parent(h[5]))
	require.True(t, f.Alive(h[5]))
	f.sound()
}

// TestPolicyRemove takes parents out of the relation, alive.
func TestPolicyRemove(t *testing.T) {
	for policy, want := range map[hierarchy.OnParentDeath]error{
		hierarchy.Destroy: hierarchy.ErrChildren, hierarchy.SpareParent: hierarchy.ErrChildren, hierarchy.Orphan: nil, hierarchy.Grandparent: nil,
	} {
		t.Run(policy.String(), func(t *testing.T) {
			f := newFamily(t, hierarchy.Options{OnParentDeath: policy})
			require.ErrorIs(t, f.rel.Remove(f.World, f.parent), want)
			f.sound()
			switch policy {
			case hierarchy.Orphan:
				require.Equal(t, list(f.before, f.after), f.read.Children(f.root))
				require.Equal(t, handle.None, f.read.Parent(f.children[0]))
			case hierarchy.Grandparent:
				require.Equal(t, append(list(f.before, f.after), f.children...), f.read.Children(f.root))
			default:
				require.Equal(t, f.children, f.read.Children(f.parent))
			}
			require.NoError(t, f.rel.Remove(f.World, f.grandchild))
			require.False(t, f.read.Has(f.grandchild))
			require.True(t, f.Alive(f.grandchild))
			require.ErrorIs(t, f.rel.Remove(f.World, f.grandchild), hierarchy.ErrAbsent)
		})
	}
}

// TestPolicyRefuseWhileTheTableGrows spares an entity in the refresh that gathers its chunk in a
// larger one, with nobody else dying. Then the shard is compacted for the sake of another table.
func TestPolicyRefuseWhileTheTableGrows(t *testing.T) {
	for _, keep := range []bool{false, true} {
		w := world.MustNew(world.Options{Shards: 1, KeepOrder: keep, ChunkRowsFirst: 2, ChunkRowsFactor: 4})
		world.Register[ID](w, "id")
		world.Register[Weight](w, "weight")
		ids := world.Read[ID](w)
		things, heavy := world.NewBundle[Thing](w), world.NewBundle[Heavy](w)
		rel := hierarchy.New(w, "relation", hierarchy.Options{OnParentDeath: hierarchy.SpareParent})
		all, err := things.AppendN(nil, w, 6, func(i int, v *Thing) { v.Number = i })
		require.NoError(t, err)
		require.NoError(t, rel.AddChild(w, all[0], all[1]))
		require.True(t, w.Destroy(all[0]))
		w.Refresh()
		require.Empty(t, engine.Of(w).Survey().Image(0).Marked, "no chunk has a marked row")

		other, err := heavy.AppendN(nil, w, 3, func(i int, v *Heavy) { v.Number = 10 + i })
		require.NoError(t, err)
		require.True(t, w.Destroy(other[0]))
		w.Refresh()
		for i, h := range append(all, other[1:]...) {
			want := ID{i}
			if i >= len(all) {
				want.Number += 5
			}
			require.Equal(t, want, *ids.Get(h))
		}
	}
}
