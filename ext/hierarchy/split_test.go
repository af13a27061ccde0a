package hierarchy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/internal/check"
)

// TestSplit has so many parents that links need another split while there is a list
// of more places than the new ones tell apart: all find their places and parents, and
// are found in a tree that is loaded.
func TestSplit(t *testing.T) {
	const wide, parents = 1<<18 + 1000, 1<<16 + 1000
	x := hierarchy.NewTree(hierarchy.Memory{})
	top, mid := h(0), h(1)
	require.NoError(t, x.AddChild(top, h(2+wide+2*parents)))
	require.NoError(t, x.AddChild(top, mid))
	for i := range wide {
		require.NoError(t, x.AddChild(mid, h(2+i)))
	}
	places := func(x *hierarchy.Tree) {
		t.Helper()
		require.NoError(t, x.Verify())
		read := x.Read()
		require.Equal(t, top, read.Parent(mid))
		place, _ := read.Place(mid)
		require.Equal(t, 1, place)
		for _, i := range []int{0, 1, 999, 1000, 1 << 11, 1 << 16, 1<<18 - 1, 1 << 18, wide - 1} {
			place, ok := read.Place(h(2 + i))
			require.True(t, ok)
			require.Equal(t, i, place)
			require.Equal(t, mid, read.Parent(h(2+i)))
		}
	}
	places(x)
	for i := range parents {
		require.NoError(t, x.AddChild(h(2+wide+2*i), h(2+wide+2*i+1)))
	}
	places(x)
	loaded, err := hierarchy.Load(x.Save(nil), hierarchy.Memory{})
	require.NoError(t, err)
	places(loaded)
	for _, i := range []int{5, 1<<18 + 5, wide - 1} { // the last moves in
		require.NoError(t, x.RemoveChild(h(2+i), hierarchy.Swap))
		require.NoError(t, x.Verify())
		require.NoError(t, x.Move(h(2+i), top, hierarchy.Swap))
	}
	require.Equal(t, h(2+wide-2), x.Read().At(mid, 1<<18+5))
	require.NoError(t, x.Verify())
}

// TestSplitWithinMove: the list that an entity gets as a new parent may make links
// need another split, in the middle of a move to it. The child still leaves the place
// that it had.
func TestSplitWithinMove(t *testing.T) {
	if check.Enabled {
		t.Skip("one goroutine makes 65,636 moves, and nothing is checked")
	}
	const parents = 1<<16 + 100
	x := hierarchy.NewTree(hierarchy.Memory{})
	child := h(parents)
	for i := range parents {
		require.NoError(t, x.Put(child, h(i), 1, hierarchy.Hole), "place 1: its lowest bit is the next one of the list's number")
		require.NoError(t, x.Add(h(i)))
		require.Equal(t, h(i), x.Read().Parent(child))
		require.Equal(t, 1, x.Links())
	}
	require.NoError(t, x.Verify())
	for i := range parents - 1 {
		require.Zero(t, x.Read().Count(h(i)))
	}
}
