package hierarchy_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/reference"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestShardsMove: an entity that moves to another shard keeps its parent and its
// children, whatever else is asked of it in the same refresh.
func TestShardsMove(t *testing.T) {
	for _, parallel := range []extend.Parallel{serial, backwards} {
		f := newFixture(t, 3, hierarchy.Options{})
		h := f.make(8)
		bag, item, other, chest := h[0], h[1], h[2], h[3]
		f.add(bag, item, other)
		f.add(item, h[4])
		p := f.port()
		owner := func(h handle.Handle) int {
			shard, ok := f.Owner(h)
			require.True(t, ok)
			return shard
		}

		var done [3]world.Completion
		require.NoError(t, world.Move(p.Notify(&done[0]), item, 2))
		require.NoError(t, f.rel.Move(p.Notify(&done[1]), item, chest))
		require.NoError(t, world.Move(p.Notify(&done[2]), bag, 1))
		f.tickBy(parallel)
		for i := range done {
			require.Equal(t, world.Applied, done[i].Outcome())
		}
		require.Equal(t, []int{2, 1}, []int{owner(item), owner(bag)})
		require.Equal(t, chest, f.read.Parent(item))
		require.Equal(t, list(item), f.read.Children(chest))
		require.Equal(t, list(h[4]), f.read.Children(item))
		require.Equal(t, list(other), f.read.Children(bag))
		f.sound()
	}
}

// TestShardsMoveDying: who is to move and dies with a parent in the same refresh
// does not arrive; who was moved out does.
func TestShardsMoveDying(t *testing.T) {
	for _, parallel := range []extend.Parallel{serial, backwards} {
		f := newFixture(t, 3, hierarchy.Options{})
		h := f.make(6)
		bag, dying, saved, chest := h[0], h[1], h[2], h[3]
		f.add(bag, dying, saved)
		p := f.port()
		var move world.Completion
		require.NoError(t, p.Destroy(bag))
		require.NoError(t, world.Move(p.Notify(&move), dying, 2))
		require.NoError(t, world.Move(p, saved, 1))
		require.NoError(t, world.Move(p, chest, 2))
		require.NoError(t, f.rel.Move(p, saved, chest))
		f.tickBy(parallel)
		require.Equal(t, world.Applied, move.Outcome(), "it was to move, and then died")
		require.False(t, f.Alive(dying))
		require.Equal(t, chest, f.read.Parent(saved))
		shard, _ := f.Owner(saved)
		require.Equal(t, 1, shard)
		require.Equal(t, 4, f.Count())
		f.sound()
		for range 3 { // nothing of the marked is left in either shard
			f.tickBy(parallel)
			require.Equal(t, 4, f.Count())
		}
	}
}

// TestShardsRefuseMove: who is spared moves as it was to.
func TestShardsRefuseMove(t *testing.T) {
	f := newFixture(t, 2, hierarchy.Options{OnParentDeath: hierarchy.SpareParent})
	h := f.make(4)
	f.add(h[0], h[1])
	p := f.port()
	var moved, killed world.Completion
	require.NoError(t, world.Move(p.Notify(&moved), h[0], 1))
	require.NoError(t, p.Notify(&killed).Destroy(h[0]))
	f.Refresh()
	require.Equal(t, []world.Outcome{world.Applied, world.Refused}, []world.Outcome{moved.Outcome(), killed.Outcome()})
	shard, ok := f.Owner(h[0])
	require.True(t, ok)
	require.Equal(t, 1, shard)
	f.sound()
}

// TestShardsReleased: what the last owner of a bag released takes along its content
// in the same refresh.
func TestShardsReleased(t *testing.T) {
	f := newFixture(t, 3, hierarchy.Options{})
	h := f.make(4)
	f.add(h[0], h[1])
	f.add(h[1], h[2])
	o := reference.Own(f.World, h[0], nil)
	p := f.port()
	require.NoError(t, f.rel.Move(p, h[3], h[2]))
	o.Release()
	f.Refresh()
	require.Zero(t, f.Count())
	f.sound()
}

// TestShardsGlobal: a global system reads a relation, and changes it by request.
func TestShardsGlobal(t *testing.T) {
	f := newFixture(t, 3, hierarchy.Options{})
	h := f.make(4)
	f.add(h[0], h[1], h[2])
	s := scheduler.New(f.World, scheduler.Options{})
	seen := 0
	s.MustAdd("count", func(b *world.Build) func(*world.Context) {
		bags, ids := f.rel.Read(b), world.Read[ID](b)
		return func(c *world.Context) {
			for child := range bags.Each(h[0]) {
				if ids.Get(child) != nil {
					seen++
				}
			}
			require.NoError(t, f.rel.Move(c, h[2], h[3]))
			require.Equal(t, h[0], bags.Parent(h[2]), "until the refresh")
		}
	}, scheduler.Global())
	require.NoError(t, s.Step(context.Background()))
	require.Equal(t, 2, seen)
	require.Equal(t, h[3], f.read.Parent(h[2]))
}
