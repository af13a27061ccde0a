package hierarchy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
)

// h is a handle of home 0.
func h(index int) handle.Handle { return handle.New(0, uint32(index), 1) }

// TestSource holds a Tree to each thing that the Entitytainer does, one after the
// other.
func TestSource(t *testing.T) {
	type tree = hierarchy.Tree
	build := func(t *testing.T, o hierarchy.Memory) (*tree, *hierarchy.Reader) {
		x := hierarchy.NewTree(o)
		t.Cleanup(func() { require.NoError(t, x.Verify()) })
		return x, x.Read()
	}
	small := hierarchy.Memory{Buckets: []int{4, 16, 256}}
	for _, c := range []struct {
		name string
		test func(t *testing.T)
	}{
		{"the usage example", func(t *testing.T) {
			x, r := build(t, small)
			require.NoError(t, x.Add(h(3)))
			require.NoError(t, x.AddChild(h(3), h(10)))
			require.Equal(t, list(h(10)), r.Children(h(3)))
			require.Equal(t, 1, r.Count(h(3)))
		}},
		{"add entity, is added", func(t *testing.T) {
			x, r := build(t, small)
			require.False(t, r.Has(h(3)))
			require.NoError(t, x.Add(h(3)))
			require.True(t, r.Has(h(3)))
			require.Empty(t, r.Children(h(3)))
			require.Equal(t, none, r.Parent(h(3)))
		}},
		{"remove entity", func(t *testing.T) {
			x, r := build(t, small)
			require.NoError(t, x.Add(h(3)))
			require.NoError(t, x.Remove(h(3), hierarchy.Close))
			require.False(t, r.Has(h(3)))
			require.ErrorIs(t, x.Remove(h(3), hierarchy.Close), hierarchy.ErrAbsent)
		}},
		{"removing takes it out of its parent", func(t *testing.T) {
			x, r := build(t, small)
			err := x.AddChildren(h(3), list(h(10), h(11), h(12)))
			require.NoError(t, err)
			require.NoError(t, x.Remove(h(10), hierarchy.Close))
			require.Equal(t, list(h(11), h(12)), r.Children(h(3)))
			require.NoError(t, x.Remove(h(11), hierarchy.Hole))
			require.Equal(t, list(none, h(12)), r.Children(h(3)))
		}},
		{"removing is refused while it has children", func(t *testing.T) {
			x, r := build(t, small)
			require.NoError(t, x.AddChild(h(3), h(10)))
			require.ErrorIs(t, x.Remove(h(3), hierarchy.Close), hierarchy.ErrChildren)
			require.Equal(t, h(3), r.Parent(h(10)))
			require.NoError(t, x.Remove(h(10), hierarchy.Close))
			require.ErrorIs(t, x.Remove(h(3), hierarchy.Close), hierarchy.ErrAbsent, "it was there for its child alone")
		}},
		{"a second parent is refused", func(t *testing.T) {
			x, r := build(t, small)
			require.NoError(t, x.AddChild(h(3), h(10)))
			require.ErrorIs(t, x.AddChild(h(4), h(10)), hierarchy.ErrParent)
			require.ErrorIs(t, x.AddChild(h(3), h(10)), hierarchy.ErrParent)
			require.Equal(t, h(3), r.Parent(h(10)))
			require.False(t, r.Has(h(4)))
		}},
		{"add child at an index", func(t *testing.T) {
			x, r := build(t, small)
			for _, c := range []struct{ child, at int }{{10, 0}, {11, 0}, {12, 1}, {13, 3}} {
				require.NoError(t, x.AddChildAt(h(3), h(c.child), c.at))
			}
			require.Equal(t, list(h(11), h(12), h(10), h(13)), r.Children(h(3)))
			require.ErrorIs(t, x.AddChildAt(h(3), h(14), 5), hierarchy.ErrPlace)
			require.ErrorIs(t, x.AddChildAt(h(3), h(14), -1), hierarchy.ErrPlace)
		}},
		{"add an array of children at once", func(t *testing.T) {
			x, r := build(t, small)
			require.NoError(t, x.AddChildren(h(3), list(h(10), h(11), h(12), h(13), h(14))))
			require.ErrorIs(t, x.AddChildren(h(3), list(h(15), h(10), h(16))), hierarchy.ErrParent)
			require.Equal(t, list(h(10), h(11), h(12), h(13), h(14)), r.Children(h(3)), "all or none")
			require.False(t, r.Has(h(15)))
		}},
		{"remove child closing the gap", func(t *testing.T) {
			x, r := build(t, small)
			_ = x.AddChildren(h(3), list(h(10), h(11), h(12), h(13)))
			require.NoError(t, x.RemoveChild(h(11), hierarchy.Close))
			require.Equal(t, list(h(10), h(12), h(13)), r.Children(h(3)))
			require.Equal(t, none, r.Parent(h(11)))
			require.ErrorIs(t, x.RemoveChild(h(11), hierarchy.Close), hierarchy.ErrAbsent)
		}},
		{"remove child leaving a hole, remove holes", func(t *testing.T) {
			x, r := build(t, small)
			_ = x.AddChildren(h(3), list(h(10), h(11), h(12), h(13)))
			require.NoError(t, x.RemoveChild(h(11), hierarchy.Hole))
			require.Equal(t, list(h(10), none, h(12), h(13)), r.Children(h(3)))
			require.Equal(t, 3, r.Count(h(3)))
			require.NoError(t, x.RemoveChild(h(12), hierarchy.Close), "the hole that was left stays")
			require.Equal(t, list(h(10), none, h(13)), r.Children(h(3)))
			require.NoError(t, x.Put(h(14), h(3), hierarchy.Free, hierarchy.Close), "and can be filled")
			require.Equal(t, list(h(10), h(14), h(13)), r.Children(h(3)))
			require.NoError(t, x.RemoveChild(h(10), hierarchy.Hole))
			require.NoError(t, x.RemoveHoles(h(3)))
			require.Equal(t, list(h(14), h(13)), r.Children(h(3)))
		}},
		{"remove child moving the last in", func(t *testing.T) {
			x, r := build(t, small)
			_ = x.AddChildren(h(3), list(h(10), h(11), h(12), h(13)))
			require.NoError(t, x.RemoveChild(h(10), hierarchy.Swap))
			require.Equal(t, list(h(13), h(11), h(12)), r.Children(h(3)))
		}},
		{"children without a copy", func(t *testing.T) {
			x, r := build(t, small)
			_ = x.AddChildren(h(3), list(h(10), h(11)))
			require.Same(t, &r.Children(h(3))[0], &r.Children(h(3))[0])
			require.Equal(t, 2, cap(r.Children(h(3))), "appending to it does not reach what is behind")
		}},
		{"index of a child, parent of a child", func(t *testing.T) {
			x, r := build(t, small)
			_ = x.AddChildren(h(3), list(h(10), h(11), h(12)))
			place, ok := r.Place(h(12))
			require.True(t, ok)
			require.Equal(t, 2, place)
			_ = x.RemoveChild(h(10), hierarchy.Close)
			place, _ = r.Place(h(12))
			require.Equal(t, 1, place)
			_, ok = r.Place(h(10))
			require.False(t, ok)
			require.Equal(t, h(3), r.Parent(h(12)))
		}},
		{"any depth", func(t *testing.T) {
			x, r := build(t, small)
			for i := range 1000 {
				require.NoError(t, x.AddChild(h(i), h(i+1)))
			}
			require.Equal(t, 1000, r.Depth(h(1000)))
		}},
		{"buckets of growing sizes, and lists beyond the largest", func(t *testing.T) {
			x, r := build(t, hierarchy.Memory{Buckets: []int{2, 5}})
			var want []handle.Handle
			for i := range 5000 {
				require.NoError(t, x.AddChild(h(3), h(10+i)))
				want = append(want, h(10+i))
			}
			require.Equal(t, want, r.Children(h(3)))
			for len(want) > 0 {
				last := len(want) - 1
				require.NoError(t, x.RemoveChild(want[last], hierarchy.Close))
				want = want[:last]
				if last%500 == 0 {
					require.Len(t, r.Children(h(3)), last)
					require.NoError(t, x.Verify())
				}
			}
		}},
		{"buckets are used again", func(t *testing.T) {
			x, _ := build(t, small)
			for i := range 1000 {
				err := x.AddChildren(h(3), list(h(10), h(11), h(12), h(13), h(14)))
				require.NoError(t, err)
				require.NoError(t, x.RemoveBranch(h(3), hierarchy.Close))
				if i == 0 {
					before := x.Bytes()
					t.Cleanup(func() { require.Equal(t, before, x.Bytes()) })
				}
			}
		}},
		{"keep capacity on remove", func(t *testing.T) {
			for _, keep := range []bool{false, true} {
				o := hierarchy.Memory{Buckets: []int{4, 8, 16, 32}, KeepCapacity: keep, ManualGrowth: true}
				o.Reserve = hierarchy.Room{Entities: 100, Parents: 3, Buckets: []int{2, 2, 2, 1}}
				x, _ := build(t, o)
				for i := range 20 {
					require.NoError(t, x.AddChild(h(3), h(10+i)))
				}
				for i := range 18 {
					require.NoError(t, x.RemoveChild(h(10+i), hierarchy.Close))
				}
				x.Settle()
				var err error
				for i := 0; i < 20 && err == nil; i++ { // there is one bucket of 32
					err = x.AddChild(h(4), h(40+i))
				}
				require.Equal(t, keep, err != nil, "kept: %v", keep)
			}
		}},
		{"handles of every part of the range", func(t *testing.T) {
			x, r := build(t, small)
			ends := list(handle.New(0, 0, 1), handle.New(handle.HomeMax, 0, handle.VersionMax),
				handle.New(0, handle.IndexMax, handle.VersionMax), handle.New(handle.HomeMax, handle.IndexMax, 1), handle.New(7, 7, 7))
			err := x.AddChildren(ends[0], ends[1:])
			require.NoError(t, err)
			require.Equal(t, ends[1:], r.Children(ends[0]))
			for _, e := range ends[1:] {
				require.Equal(t, ends[0], r.Parent(e))
				require.False(t, r.Has(e^1<<27))
			}
			require.Equal(t, none, r.Parent(none))
		}},
		{"what is no handle is refused", func(t *testing.T) {
			x, r := build(t, small)
			require.NoError(t, x.AddChild(h(3), h(10)))
			for _, bad := range list(none, handle.New(0, 4, 1)-1) {
				require.ErrorIs(t, x.AddChild(h(3), bad), hierarchy.ErrAbsent)
				require.ErrorIs(t, x.AddChild(bad, h(11)), hierarchy.ErrAbsent)
				require.ErrorIs(t, x.AddChildAt(h(3), bad, 0), hierarchy.ErrAbsent)
				require.ErrorIs(t, x.Add(bad), hierarchy.ErrAbsent)
				require.False(t, r.Has(bad))
			}
			require.Equal(t, list(h(10)), r.Children(h(3)))
			require.False(t, r.Has(h(11)))
		}},
		{"an earlier entity of the slot is in the way", func(t *testing.T) {
			x, r := build(t, small)
			require.NoError(t, x.AddChild(h(3), h(10)))
			require.ErrorIs(t, x.AddChild(h(4), h(10)+1), hierarchy.ErrVersion)
			require.NoError(t, x.Remove(h(10), hierarchy.Close))
			require.NoError(t, x.AddChild(h(4), h(10)+1))
			require.Equal(t, none, r.Parent(h(10)))
		}},
	} {
		t.Run(c.name, c.test)
	}
}

func TestCycleError(t *testing.T) {
	x := hierarchy.NewTree(hierarchy.Memory{})
	require.NoError(t, x.AddChild(h(1), h(2)))
	require.NoError(t, x.AddChild(h(2), h(3)))
	for _, err := range []error{x.Move(h(1), h(3), hierarchy.Close), x.AddChild(h(3), h(1)), x.Put(h(1), h(3), hierarchy.Free, hierarchy.Close)} {
		var cycle *hierarchy.CycleError
		require.ErrorAs(t, err, &cycle)
		require.ErrorIs(t, err, hierarchy.ErrCycle)
		require.Equal(t, list(h(1), h(2), h(3)), cycle.Path)
		require.EqualError(t, err, "hierarchy: would be its own ancestor: 0:1@1 → 0:2@1 → 0:3@1 → 0:1@1")
	}
	require.EqualError(t, x.AddChild(h(4), h(4)), "hierarchy: would be its own ancestor: 0:4@1 → 0:4@1")
}

func TestStrings(t *testing.T) {
	require.Equal(t, "close hole swap unknown", hierarchy.Close.String()+" "+hierarchy.Hole.String()+" "+hierarchy.Swap.String()+" "+hierarchy.Gap(9).String())
	require.Equal(t, "destroy orphan grandparent spare unknown", hierarchy.Destroy.String()+" "+hierarchy.Orphan.String()+" "+
		hierarchy.Grandparent.String()+" "+hierarchy.SpareParent.String()+" "+hierarchy.OnParentDeath(9).String())
}
