package hierarchy_test

import (
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/allocs"
	"github.com/atoll-sim/atoll/internal/check"
)

// allocations counts what f allocates, and what else the process does meanwhile.
func allocations(f func()) (count, bytes uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc
}

// TestReserve: all memory comes in one allocation, of the size that was told
// beforehand, beside the three directories; and filling what was reserved takes
// none.
func TestReserve(t *testing.T) {
	const parents, children = 1000, 10
	o := hierarchy.Memory{Buckets: []int{4, 16}, ManualGrowth: true}
	room := hierarchy.Room{Entities: parents * (1 + children), Parents: parents, Buckets: []int{1, parents}}
	var x *hierarchy.Tree
	fill := func() {
		for p := range parents {
			for c := range children {
				if err := x.AddChild(h(p), h(parents+p*children+c)); err != nil {
					panic(err)
				}
			}
		}
	}
	var empty, reserved, size, filled uint64 = math.MaxUint64, math.MaxUint64, math.MaxUint64, math.MaxUint64
	allocs.Fewest(func() uint64 {
		count, _ := allocations(func() { x = hierarchy.NewTree(o) })
		empty = min(empty, count)
		count, bytes := allocations(func() { x.Reserve(room) })
		reserved, size = min(reserved, count), min(size, bytes)
		count, _ = allocations(fill)
		filled = min(filled, count)
		return 1
	})
	needed := o.SizeNeeded(room)
	t.Logf("an empty tree: %d allocations; room for %d children: %d, %d bytes, %d needed", empty, parents*children, reserved, size, needed)
	require.LessOrEqual(t, empty, uint64(5))
	require.LessOrEqual(t, reserved, uint64(9), "the memory, the directories with a table of pages, and three for the arenas")
	require.InEpsilon(t, needed, size, 0.05)
	require.InEpsilon(t, needed, x.Bytes(), 0.05)
	require.Zero(t, filled)
	require.Equal(t, parents*children, x.Links())
	require.NoError(t, x.Verify())

	// There is no more, and nothing changes when more is asked for.
	require.ErrorIs(t, x.AddChild(h(0), h(1<<20)), hierarchy.ErrRoom)
	require.ErrorIs(t, x.AddChild(h(1<<20), h(1<<21)), hierarchy.ErrRoom)
	var err error
	n := 0
	for ; err == nil; n++ {
		err = x.AddChild(h(0), h(1+n)) // of a root more than its bucket holds
	}
	require.ErrorIs(t, err, hierarchy.ErrRoom)
	require.Equal(t, 16-children+1, n)
	require.NoError(t, x.Verify())
}

// TestFarApart has one child in each of 2,048 homes, at the first index and at a far one:
// the directory goes by what each home has, not by homes times the largest.
func TestFarApart(t *testing.T) {
	const homes, far = min(2048, handle.HomeMax), 1 << 18
	x := hierarchy.NewTree(hierarchy.Memory{})
	top := handle.New(homes, far, 1)
	for home := range uint32(homes) {
		require.NoError(t, x.AddChild(top, handle.New(home, 0, 1)))
	}
	pages := (homes + 1) * 1024 * 8
	require.Less(t, x.Bytes(), pages+pages/4)
	image := x.Save(nil)
	loaded, err := hierarchy.Load(image, hierarchy.Memory{})
	require.NoError(t, err)
	require.Equal(t, x.Read().Children(top), loaded.Read().Children(top))
	require.Equal(t, image, loaded.Save(nil))
	require.NoError(t, x.Verify())
	for _, absent := range []handle.Handle{handle.New(homes, 0, 1), handle.New(0, 1024, 1), handle.New(0, far, 1), handle.New(homes, handle.IndexMax, 1)} {
		require.False(t, x.Read().Has(absent))
	}
}

// TestNeedsGrowth tells beforehand whether more memory is needed; growing is the
// user's affair.
func TestNeedsGrowth(t *testing.T) {
	x := hierarchy.NewTree(hierarchy.Memory{Buckets: []int{2, 4}, ManualGrowth: true})
	require.True(t, x.NeedsGrowth(h(0), 1))
	require.ErrorIs(t, x.AddChild(h(0), h(1)), hierarchy.ErrRoom)
	x.Reserve(hierarchy.Room{Entities: 10, Parents: 2, Buckets: []int{1, 1}})
	require.False(t, x.NeedsGrowth(h(0), 4))
	require.True(t, x.NeedsGrowth(h(0), 5))
	grown := 0
	for i := range 100 {
		if x.NeedsGrowth(h(0), 1) {
			require.ErrorIs(t, x.AddChild(h(0), h(1+i)), hierarchy.ErrRoom)
			grown++
			x.Reserve(hierarchy.Room{Buckets: []int{0, 0, 1, 0, 1, 0, 1}[:min(7, 3+2*(grown/2))]})
			require.False(t, x.NeedsGrowth(h(0), 1))
		}
		require.NoError(t, x.AddChild(h(0), h(1+i)))
		require.NoError(t, x.Verify())
	}
	require.Greater(t, grown, 2)
	require.Len(t, x.Read().Children(h(0)), 100)
}

func TestBucketsRefused(t *testing.T) {
	for _, sizes := range [][]int{{}, {0}, {-1, 4}, {4, 4}, {8, 4}, make([]int, 200)} {
		require.Panics(t, func() { hierarchy.NewTree(hierarchy.Memory{Buckets: sizes}) }, "%v", sizes)
	}
}

// TestMemory holds a million children in families of 4 to 16 to 24 bytes each, all
// told, whatever the order in which the families grow.
func TestMemory(t *testing.T) {
	if check.Enabled {
		t.Skip("the memory of the check build says nothing, and it takes long")
	}
	const limit = 24.0
	children := max(50_000, iterations(1_000_000))
	for _, order := range []string{"family by family", "in turn", "parents among their children"} {
		t.Run(order, func(t *testing.T) {
			r := newRand(t, 1)
			var sizes []int
			for n := 0; n < children; n += sizes[len(sizes)-1] {
				sizes = append(sizes, 4+r.IntN(13))
			}
			f := newFixture(t, 4, hierarchy.Options{})
			total := len(sizes)
			for _, n := range sizes {
				total += n
			}
			all, err := f.things.AppendN(nil, f.World, total, func(i int, v *Thing) { v.Number = i / 16 })
			require.NoError(t, err)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			f.grow(order, all, sizes)
			runtime.GC()
			runtime.ReadMemStats(&after)
			n := f.rel.Links()
			each := (float64(after.HeapAlloc) - float64(before.HeapAlloc)) / float64(n)
			t.Logf("%d children of %d parents: %.1f bytes each in the heap, %.1f by its own count", n, len(sizes), each, float64(f.rel.Bytes())/float64(n))
			require.LessOrEqual(t, each, limit)
			runtime.KeepAlive(all)
		})
	}
}

// grow adds the children: parents are those in front, or each before its children.
func (f *fixture) grow(order string, all []handle.Handle, sizes []int) {
	add := func(parent, child handle.Handle) {
		if err := f.rel.AddChild(f.World, parent, child); err != nil {
			panic(err)
		}
	}
	next := len(sizes)
	switch order {
	case "family by family":
		for p, n := range sizes {
			for range n {
				add(all[p], all[next])
				next++
			}
		}
	case "in turn":
		for round := range 16 {
			for p, n := range sizes {
				if round < n {
					add(all[p], all[next])
					next++
				}
			}
		}
	default:
		at := 0
		for _, n := range sizes {
			for i := range n {
				add(all[at], all[at+1+i])
			}
			at += 1 + n
		}
	}
}
