package hierarchy_test

import (
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
)

// newWalk is this tree, with a hole:
//
//	0 ── 1 ── 4
//	│    └─── 5 ── 8
//	├── (hole)
//	└─── 3 ── 6
//	     └─── 7
func newWalk(t testing.TB) (*fixture, []handle.Handle) {
	f := newFixture(t, 3, hierarchy.Options{})
	h := f.make(10)
	f.add(h[0], h[1], h[2], h[3])
	f.add(h[1], h[4], h[5])
	f.add(h[3], h[6], h[7])
	f.add(h[5], h[8])
	require.NoError(t, f.rel.RemoveChild(f.World, h[2], hierarchy.Hole))
	return f, h
}

func TestWalk(t *testing.T) {
	f, h := newWalk(t)
	r := f.read
	require.Equal(t, list(h[1], h[3]), slices.Collect(r.Each(h[0])))
	require.Equal(t, list(h[5], h[1], h[0]), slices.Collect(r.Ancestors(h[8])))
	require.Equal(t, list(h[1], h[4], h[5], h[8], h[3], h[6], h[7]), slices.Collect(r.DepthFirst(h[0])))
	require.Equal(t, list(h[4], h[5], h[8]), slices.Collect(r.DepthFirst(h[1])), "of a part of the tree")
	require.Equal(t, list(h[1], h[3], h[4], h[5], h[6], h[7], h[8]), slices.Collect(r.BreadthFirst(h[0])))
	require.Equal(t, []int{0, 1, 2, 3}, []int{r.Depth(h[0]), r.Depth(h[1]), r.Depth(h[5]), r.Depth(h[8])})
	require.Equal(t, h[0], r.Root(h[8]))
	require.Equal(t, h[0], r.Root(h[0]))
	require.True(t, r.IsAncestor(h[0], h[8]))
	require.False(t, r.IsAncestor(h[3], h[8]))
	require.False(t, r.IsAncestor(h[8], h[0]))
	require.False(t, r.IsAncestor(h[8], h[8]))
	require.False(t, r.IsAncestor(none, h[8]))

	for _, absent := range []handle.Handle{h[9], h[2], none, h[0] + 1, 1<<63 + 1} {
		require.Empty(t, slices.Collect(r.DepthFirst(absent)))
		require.Empty(t, slices.Collect(r.BreadthFirst(absent)))
		require.Empty(t, slices.Collect(r.Ancestors(absent)))
		require.Equal(t, absent, r.Root(absent))
		require.Zero(t, r.Depth(absent))
	}
}

// TestWalkBreak ends walks early, and nests them.
func TestWalkBreak(t *testing.T) {
	f, h := newWalk(t)
	for name, walk := range map[string]func(handle.Handle) iter.Seq[handle.Handle]{
		"Each": f.read.Each, "DepthFirst": f.read.DepthFirst, "BreadthFirst": f.read.BreadthFirst,
	} {
		t.Run(name, func(t *testing.T) {
			all := slices.Collect(walk(h[0]))
			for n := range all {
				var got []handle.Handle
				for x := range walk(h[0]) {
					if len(got) == n {
						break
					}
					got = append(got, x)
				}
				require.True(t, slices.Equal(all[:n], got))
			}
			var outer []handle.Handle
			for x := range walk(h[0]) {
				outer = append(outer, x)
				for y := range walk(h[0]) {
					if y == x {
						break
					}
				}
			}
			require.Equal(t, all, outer)
		})
	}
}

// TestWalkWide walks a list with many places.
func TestWalkWide(t *testing.T) {
	f := newFixture(t, 2, hierarchy.Options{})
	h := f.make(7001)
	f.add(h[0], h[1:]...)
	f.add(h[5000], f.make(3)...)
	require.Len(t, slices.Collect(f.read.DepthFirst(h[0])), 7003)
	for _, i := range []int{1, 2048, 2049, 5000, 7000} {
		place, ok := f.read.Place(h[i])
		require.True(t, ok)
		require.Equal(t, i-1, place)
	}
	for _, i := range []int{4097, 2049, 1} {
		require.NoError(t, f.rel.RemoveChild(f.World, h[i], hierarchy.Close))
	}
	for i := 2; i <= 7000; i++ {
		if i != 2049 && i != 4097 {
			place, ok := f.read.Place(h[i])
			require.True(t, ok)
			require.Equal(t, h[i], f.read.At(h[0], place))
		}
	}
	f.sound()
}

// TestWalkDeep walks a chain: no depth is too deep.
func TestWalkDeep(t *testing.T) {
	f := newFixture(t, 4, hierarchy.Options{})
	h := f.make(iterations(200_000) + 2)
	for i := range h[1:] {
		require.NoError(t, f.rel.AddChild(f.World, h[i], h[i+1]))
	}
	last := len(h) - 1
	require.Equal(t, last, f.read.Depth(h[last]))
	require.Equal(t, h[1:], slices.Collect(f.read.DepthFirst(h[0])))
	require.Equal(t, h[1:], slices.Collect(f.read.BreadthFirst(h[0])))
	require.ErrorIs(t, f.rel.Move(f.World, h[0], h[last]), hierarchy.ErrCycle)
	f.Destroy(h[0])
	f.Refresh()
	require.Zero(t, f.Count(), "all go in one refresh")
	require.Zero(t, f.rel.Links())
}

// TestWalkAllocates counts: reading and walking take no memory, once the scratch
// of BreadthFirst has grown.
func TestWalkAllocates(t *testing.T) {
	f, h := newWalk(t)
	r := f.read
	n := 0
	walk := func() {
		for _, x := range r.Children(h[0]) {
			n += int(x & 1)
		}
		for range r.Each(h[0]) {
			n++
		}
		for range r.DepthFirst(h[0]) {
			n++
		}
		for range r.BreadthFirst(h[0]) {
			n++
		}
		for range r.Ancestors(h[8]) {
			n++
		}
		n += r.Depth(h[8]) + r.Count(h[0]) + int(r.Parent(h[8])&1) + int(r.Root(h[8])&1)
	}
	walk()
	require.Zero(t, testing.AllocsPerRun(100, walk))
	require.NotZero(t, n)
}

// TestWalkChanges changes the relation within walks by the idle world, in every way, and looks at
// the world as a whole: the walk ends, and the relation is sound.
func TestWalkChanges(t *testing.T) {
	each := func(walk iter.Seq[handle.Handle]) func(func(handle.Handle)) {
		return func(do func(handle.Handle)) {
			for h := range walk {
				do(h)
			}
		}
	}
	walks := map[string]func(f *fixture, h []handle.Handle) func(func(handle.Handle)){
		"Children": func(f *fixture, h []handle.Handle) func(func(handle.Handle)) {
			return each(slices.Values(f.read.Children(h[0])))
		},
		"Each":         func(f *fixture, h []handle.Handle) func(func(handle.Handle)) { return each(f.read.Each(h[0])) },
		"Ancestors":    func(f *fixture, h []handle.Handle) func(func(handle.Handle)) { return each(f.read.Ancestors(h[8])) },
		"DepthFirst":   func(f *fixture, h []handle.Handle) func(func(handle.Handle)) { return each(f.read.DepthFirst(h[0])) },
		"BreadthFirst": func(f *fixture, h []handle.Handle) func(func(handle.Handle)) { return each(f.read.BreadthFirst(h[0])) },
	}
	changes := map[string]func(f *fixture, h []handle.Handle, at handle.Handle){
		"Refresh": func(f *fixture, _ []handle.Handle, at handle.Handle) { f.Destroy(at); f.Refresh() },
		"close": func(f *fixture, _ []handle.Handle, at handle.Handle) {
			_ = f.rel.RemoveChild(f.World, at, hierarchy.Close)
		},
		"hole": func(f *fixture, _ []handle.Handle, at handle.Handle) {
			_ = f.rel.RemoveChild(f.World, at, hierarchy.Hole)
		},
		"swap": func(f *fixture, _ []handle.Handle, at handle.Handle) {
			_ = f.rel.RemoveChild(f.World, at, hierarchy.Swap)
		},
		"insert":    func(f *fixture, h []handle.Handle, _ handle.Handle) { f.add(h[0], f.make(30)...) },
		"move":      func(f *fixture, h []handle.Handle, at handle.Handle) { _ = f.rel.Move(f.World, at, h[9]) },
		"move back": func(f *fixture, h []handle.Handle, at handle.Handle) { _ = f.rel.MoveAt(f.World, at, h[0], 0) },
		"sort": func(f *fixture, h []handle.Handle, _ handle.Handle) {
			_ = f.rel.Sort(f.World, h[0], handle.Handle.Compare)
		},
		"reserve": func(f *fixture, _ []handle.Handle, _ handle.Handle) {
			f.rel.Reserve(hierarchy.Room{Entities: 100, Parents: 9})
		},
		"load": func(f *fixture, _ []handle.Handle, _ handle.Handle) {
			require.NoError(f.t, f.rel.Load(f.rel.Save(nil)))
		},
		"capture": func(f *fixture, h []handle.Handle, _ handle.Handle) {
			frame := f.now(f.rel)
			defer frame.Release()
			require.Equal(f.t, f.read.Children(h[0]), f.rel.Read(frame).Children(h[0]))
		},
	}
	for walking, walk := range walks {
		for changing, change := range changes {
			t.Run(walking+" "+changing, func(t *testing.T) {
				f, h := newWalk(t)
				f.add(h[0], f.make(70)...)
				n := 0
				walk(f, h)(func(at handle.Handle) {
					if n++; n < 20 {
						change(f, h, at)
						f.sound()
					}
					require.Less(t, n, 2000, "it ends")
				})
				require.NotZero(t, n)
				f.Refresh()
				f.sound()
			})
		}
	}
}
