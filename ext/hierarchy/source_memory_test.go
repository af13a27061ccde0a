package hierarchy_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/allocs"
)

// TestSourceMemory holds a Tree to each thing that the Entitytainer does about
// memory. What the figures are, TestReserve, TestMemory and TestImage check closer.
func TestSourceMemory(t *testing.T) {
	room := hierarchy.Room{Entities: 40, Parents: 4, Buckets: []int{2, 3}}
	o := hierarchy.Memory{Buckets: []int{4, 8}, ManualGrowth: true, Reserve: room}
	fill := func(t *testing.T, x *hierarchy.Tree, parent, children int) (err error) {
		for i := 0; i < children && err == nil; i++ {
			err = x.AddChild(h(parent), h(10*parent+i))
		}
		require.NoError(t, x.Verify())
		return err
	}
	for _, c := range []struct {
		name string
		test func(t *testing.T)
	}{
		{"bucket sizes and counts chosen by the user", func(t *testing.T) {
			x := hierarchy.NewTree(o)
			require.NoError(t, fill(t, x, 1, 8))
			require.NoError(t, fill(t, x, 2, 8))
			require.NoError(t, fill(t, x, 3, 8))
			require.NoError(t, x.AddChild(h(0), h(9)), "there is a bucket of 4")
			require.ErrorIs(t, x.AddChild(h(1), h(8)), hierarchy.ErrRoom, "but none for nine")
			require.Len(t, x.Read().Children(h(1)), 8)
		}},
		{"needed size computed beforehand", func(t *testing.T) {
			small := hierarchy.Room{Entities: 40, Parents: 4, Buckets: []int{2}}
			require.Equal(t, 3*8*8, o.SizeNeeded(room)-o.SizeNeeded(small), "three buckets of eight words")
			require.Positive(t, o.SizeNeeded(hierarchy.Room{Entities: 1}))
			require.Zero(t, o.SizeNeeded(hierarchy.Room{}))
		}},
		{"one allocation, and none while it lasts", func(t *testing.T) {
			x := hierarchy.NewTree(hierarchy.Memory{Buckets: []int{4, 8}, ManualGrowth: true})
			_, bytes := allocations(func() { x.Reserve(room) })
			require.GreaterOrEqual(t, bytes, uint64(o.SizeNeeded(room)))
			all := make([]handle.Handle, 8)
			for i := range all {
				all[i] = h(10 + i)
			}
			require.Zero(t, allocs.Least(100, func() {
				if err := x.AddChildren(h(1), all); err != nil {
					panic(err)
				}
				for _, child := range all {
					if err := x.Remove(child, hierarchy.Close); err != nil {
						panic(err)
					}
				}
			}))
		}},
		{"a check whether it must grow", func(t *testing.T) {
			x := hierarchy.NewTree(o)
			require.False(t, x.NeedsGrowth(h(1), 8))
			require.True(t, x.NeedsGrowth(h(1), 33))
			for parent := range 3 {
				require.NoError(t, fill(t, x, 1+parent, 8))
			}
			require.True(t, x.NeedsGrowth(h(1), 1))
			require.False(t, x.NeedsGrowth(h(0), 4))
			require.True(t, x.NeedsGrowth(h(0), 5))
		}},
		{"growth by reallocation under the caller's control", func(t *testing.T) {
			x := hierarchy.NewTree(o)
			for parent := range 3 {
				require.NoError(t, fill(t, x, 1+parent, 8))
			}
			held := x.Read().Children(h(1))
			want := slices.Clone(held)
			require.ErrorIs(t, x.AddChild(h(1), h(8)), hierarchy.ErrRoom, "it does not grow by itself")
			before := x.Bytes()
			x.Reserve(hierarchy.Room{Buckets: []int{0, 0, 1}}) // one of twice the largest size
			require.Greater(t, x.Bytes(), before)
			require.NoError(t, x.AddChild(h(1), h(8)))
			require.Equal(t, append(slices.Clone(want), h(8)), x.Read().Children(h(1)))
			require.Equal(t, want, held, "who holds what was before keeps it")
		}},
		{"save is one copy, load is one copy", func(t *testing.T) {
			x := hierarchy.NewTree(o)
			require.NoError(t, fill(t, x, 1, 8))
			image := make([]byte, 0, x.SaveSize())
			require.Zero(t, allocs.Least(10, func() { image = x.Save(image[:0]) }), "into memory of the caller")
			y, err := hierarchy.Load(image, hierarchy.Memory{})
			require.NoError(t, err)
			require.Equal(t, x.Read().Children(h(1)), y.Read().Children(h(1)))
			require.Equal(t, image, y.Save(nil))
			clear(image)
			require.NoError(t, y.Verify(), "the tree does not live in the image")
			require.NoError(t, fill(t, y, 2, 200), "and it goes on")
		}},
		{"load into an existing one", func(t *testing.T) {
			x, y := hierarchy.NewTree(o), hierarchy.NewTree(hierarchy.Memory{})
			require.NoError(t, fill(t, x, 1, 8))
			require.NoError(t, fill(t, y, 2, 30))
			r := y.Read()
			require.NoError(t, y.Load(x.Save(nil)))
			require.Equal(t, x.Read().Children(h(1)), r.Children(h(1)), "who reads it goes on")
			require.False(t, r.Has(h(2)))
			require.ErrorIs(t, y.Load(nil), hierarchy.ErrImage)
			require.Equal(t, 8, r.Count(h(1)), "and is as it was")
		}},
	} {
		t.Run(c.name, c.test)
	}
}
