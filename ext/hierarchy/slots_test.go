package hierarchy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

const none = handle.None

// newBags is a relation of bags of n places, with owners in many shards.
func newBags(t testing.TB, places int, policy hierarchy.OnParentDeath) *fixture {
	return newFixture(t, 4, hierarchy.Options{Places: places, OnParentDeath: policy})
}

func TestSlots(t *testing.T) {
	f := newBags(t, 4, hierarchy.Destroy)
	h := f.make(10)
	bag, items := h[0], h[1:]
	w := f.World

	require.NoError(t, f.rel.Add(w, bag))
	require.Equal(t, list(none, none, none, none), f.read.Children(bag), "all places are there from the first")
	require.True(t, f.read.Fixed(bag))
	require.NoError(t, f.rel.Put(w, items[0], bag, 2))
	require.NoError(t, f.rel.Put(w, items[1], bag, 0))
	require.Equal(t, list(items[1], none, items[0], none), f.read.Children(bag))
	require.Equal(t, 2, f.read.Count(bag))
	require.NoError(t, f.rel.Put(w, items[2], bag, hierarchy.Free))
	require.NoError(t, f.rel.AddChild(w, bag, items[3]), "adding takes the first free place")
	require.Equal(t, list(items[1], items[2], items[0], items[3]), f.read.Children(bag))
	require.ErrorIs(t, f.rel.Put(w, items[4], bag, hierarchy.Free), hierarchy.ErrNoPlace)
	require.ErrorIs(t, f.rel.AddChild(w, bag, items[4]), hierarchy.ErrNoPlace)
	require.ErrorIs(t, f.rel.Put(w, items[4], bag, 1), hierarchy.ErrTaken)
	require.ErrorIs(t, f.rel.Put(w, items[4], bag, 4), hierarchy.ErrPlace)
	require.ErrorIs(t, f.rel.Put(w, items[4], bag, -2), hierarchy.ErrPlace)
	require.False(t, f.read.Has(items[4]))

	for _, gap := range []hierarchy.Gap{hierarchy.Close, hierarchy.Swap, hierarchy.Hole} {
		require.NoError(t, f.rel.RemoveChild(w, items[2], gap))
		require.Equal(t, list(items[1], none, items[0], items[3]), f.read.Children(bag), "a place is nobody else's, %v", gap)
		require.NoError(t, f.rel.Put(w, items[2], bag, 1))
	}
	f.Destroy(items[2])
	f.Refresh()
	require.Equal(t, list(items[1], none, items[0], items[3]), f.read.Children(bag), "nor when the item dies")
	require.NoError(t, f.rel.Put(w, items[1], bag, 1))
	require.NoError(t, f.rel.Swap(w, items[0], items[3]))
	require.Equal(t, list(none, items[1], items[3], items[0]), f.read.Children(bag))
	require.NoError(t, f.rel.Put(w, items[0], bag, 0), "to a free place of the same bag")
	require.NoError(t, f.rel.Put(w, items[0], bag, 0), "where it is already")
	require.Equal(t, list(items[0], items[1], items[3], none), f.read.Children(bag))
	require.NoError(t, f.rel.Put(w, items[0], bag, 3))
	require.NoError(t, f.rel.Move(w, items[0], bag), "moving goes to the first free place")
	require.Equal(t, list(items[0], items[1], items[3], none), f.read.Children(bag))
	require.NoError(t, f.rel.RemoveChild(w, items[1], hierarchy.Close))
	require.NoError(t, f.rel.RemoveHoles(w, bag))
	require.Equal(t, list(items[0], items[3], none, none), f.read.Children(bag), "the free places are the last then")
	require.NoError(t, f.rel.SetPlaces(w, bag, 6))
	require.Equal(t, list(items[0], items[3], none, none, none, none), f.read.Children(bag))
	require.NoError(t, f.rel.SetPlaces(w, bag, 2))
	require.ErrorIs(t, f.rel.SetPlaces(w, bag, 1), hierarchy.ErrTaken)
	require.NoError(t, f.rel.SetPlaces(w, bag, 0))
	require.NoError(t, f.rel.AddChild(w, bag, items[5]), "it grows again")
	require.Equal(t, list(items[0], items[3], items[5]), f.read.Children(bag))
	f.sound()
	f.Destroy(bag)
	f.Refresh()
	require.Equal(t, 5, f.Count())
	f.sound()
}

// TestSlotsRefused leaves who was to become a parent as it was.
func TestSlotsRefused(t *testing.T) {
	f := newBags(t, 4, hierarchy.Destroy)
	h := f.make(3)
	require.ErrorIs(t, f.rel.Put(f.World, h[1], h[0], 9), hierarchy.ErrPlace)
	require.ErrorIs(t, f.rel.PutFrom(f.World, h[1], h[2], h[0], 1), hierarchy.ErrElsewhere)
	require.False(t, f.read.Has(h[0]))
	f.sound()
}

// TestSlotsTrade swaps two items between bags in different shards.
func TestSlotsTrade(t *testing.T) {
	f := newBags(t, 3, hierarchy.Destroy)
	h := f.make(8)
	f.add(h[0], h[2:5]...)
	f.add(h[1], h[5:8]...)
	p := f.port()
	require.NoError(t, f.rel.Swap(p, h[3], h[7]))
	f.Refresh()
	require.Equal(t, list(h[2], h[7], h[4]), f.read.Children(h[0]))
	require.Equal(t, list(h[5], h[6], h[3]), f.read.Children(h[1]))
	require.NoError(t, f.rel.Swap(f.World, h[2], h[4]), "within a bag too")
	require.Equal(t, list(h[4], h[7], h[2]), f.read.Children(h[0]))
	require.NoError(t, f.rel.Swap(f.World, h[2], h[2]))
	require.ErrorIs(t, f.rel.Swap(f.World, h[2], h[0]), hierarchy.ErrAbsent)
	f.sound()

	// What would put one into itself is refused.
	require.NoError(t, f.rel.RemoveChild(f.World, h[5], hierarchy.Hole))
	require.NoError(t, f.rel.Put(f.World, h[0], h[1], 0))
	require.ErrorIs(t, f.rel.Swap(f.World, h[0], h[4]), hierarchy.ErrCycle)
	require.ErrorIs(t, f.rel.Swap(f.World, h[4], h[0]), hierarchy.ErrCycle)
	f.sound()
}

// TestSlotsBothWant: of two who take up the same item one gets it.
func TestSlotsBothWant(t *testing.T) {
	f := newBags(t, 3, hierarchy.Destroy)
	h := f.make(3)
	var done [2]world.Completion
	for i := range done {
		require.NoError(t, f.rel.PutFrom(f.port().Notify(&done[i]), h[2], none, h[i], hierarchy.Free))
	}
	f.Refresh()
	require.Equal(t, world.Applied, done[0].Outcome())
	require.Equal(t, world.Refused, done[1].Outcome())
	require.Equal(t, h[0], f.read.Parent(h[2]))
}

// TestSlotsNoneLost moves an item between two bags in different shards while one of
// the bags, or the item, dies in the same tick, in every order of the requests: the
// item is in exactly one place, or dead, or nobody's as the policy says.
func TestSlotsNoneLost(t *testing.T) {
	for _, policy := range []hierarchy.OnParentDeath{hierarchy.Destroy, hierarchy.Orphan, hierarchy.Grandparent, hierarchy.SpareParent} {
		for _, victim := range []string{"from", "to", "item", "none"} {
			for _, order := range []string{"kill, move", "move, kill"} {
				for _, by := range []string{"ports", "systems"} {
					t.Run(policy.String()+"/"+victim+"/"+order+"/"+by, func(t *testing.T) { noneLost(t, policy, victim, order, by) })
				}
			}
		}
	}
}

func noneLost(t *testing.T, policy hierarchy.OnParentDeath, victim, order, by string) {
	f := newBags(t, 2, policy)
	h := f.make(4)
	owner, from, to, item := h[0], h[1], h[2], h[3]
	f.add(owner, from, to)
	f.add(from, item)
	who, some := map[string]handle.Handle{"from": from, "to": to, "item": item}[victim]
	kill := func(by world.Actor) {
		if !some {
			return
		}
		switch by := by.(type) {
		case *world.Port:
			require.NoError(t, by.Destroy(who))
		case *world.Context:
			require.NoError(t, by.Destroy(who))
		}
	}
	move := func(by world.Actor) { require.NoError(t, f.rel.PutFrom(by, item, from, to, 1)) }
	if order == "kill, move" {
		kill, move = move, kill // the first sends first
	}
	if by == "ports" {
		p, q := f.port(), f.port()
		move(p)
		kill(q)
		f.Refresh()
	} else {
		f.tick(on(from, func(c *world.Context) { move(c) }), on(to, func(c *world.Context) { kill(c) }))
	}
	f.sound()
	places := 0
	for _, bag := range h {
		for child := range f.read.Each(bag) {
			if child == item {
				places++
			}
		}
	}
	orphan := policy == hierarchy.Orphan && victim == "to"
	dead := victim == "item" || policy == hierarchy.Destroy && victim == "to"
	require.Equal(t, !dead, f.Alive(item))
	if dead || orphan {
		require.Zero(t, places)
		require.Equal(t, none, f.read.Parent(item))
		return
	}
	require.Equal(t, 1, places, "it is in one place")
	want := to
	if victim == "to" && policy == hierarchy.Grandparent {
		want = owner
	}
	require.Equal(t, want, f.read.Parent(item))
}
