package hierarchy_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
)

// iterations is n, or less where that takes long: in the check build, which is
// slow, and under -short.
func iterations(n int) int {
	switch {
	case testing.Short():
		return max(1, n/20)
	case check.Enabled:
		return max(1, n/10)
	}
	return n
}

// newRand returns random numbers that are the same for the same seed, and says
// which seed in case the test fails.
func newRand(t testing.TB, seed uint64) *rand.Rand {
	t.Helper()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// pair is a Tree and the naive one, on which the same is done.
type pair struct {
	t    testing.TB
	rand *rand.Rand
	tree *hierarchy.Tree
	*naive
	all     []handle.Handle // one for each slot
	parents int             // how many of them get most children, or 0 for all
	steps   int             // made
}

// newPair makes handles of several homes and pages.
func newPair(t testing.TB, seed uint64, o hierarchy.Memory, entities int) *pair {
	p := &pair{t: t, rand: newRand(t, seed), tree: hierarchy.NewTree(o), naive: newNaive()}
	for i := range entities {
		home, page := uint32(i%3), uint32(i/3%2)
		p.all = append(p.all, handle.New(home, (page<<2|home)<<10+uint32(i/6), 1+uint32(i%2)))
	}
	if o.Reserve.Buckets == nil {
		p.tree.ArenaWords(4 + seed%11)
	}
	return p
}

func (p *pair) any() handle.Handle { return p.all[p.rand.IntN(len(p.all))] }

// family is a parent with children, mostly, and one of its places or one beside.
func (p *pair) family() (handle.Handle, int) {
	h := p.any()
	for range 5 {
		if len(p.lists[h]) > 0 {
			break
		}
		h = p.any()
	}
	if p.parents > 0 && p.rand.IntN(20) > 0 {
		h = p.all[p.rand.IntN(p.parents)]
	}
	return h, p.rand.IntN(len(p.lists[h])+2) - p.rand.IntN(2)
}

func (p *pair) gap() hierarchy.Gap { return hierarchy.Gap(p.rand.IntN(3)) }

// step does one thing to both and compares the answers.
func (p *pair) step() {
	a, b, gap := p.any(), p.any(), p.gap()
	parent, place := p.family()
	var what string
	var got, want error
	is := func(g, w error, format string, args ...any) { got, want, what = g, w, fmt.Sprintf(format, args...) }
	switch op := p.rand.IntN(24); op {
	case 0, 1, 2:
		is(p.tree.AddChild(parent, a), p.seat(a, parent, spot{"end", 0}, gap, true), "add %v to %v", a, parent)
	case 3:
		is(p.tree.AddChildAt(parent, a, place), p.seat(a, parent, spot{"before", place}, gap, true), "add %v to %v at %d", a, parent, place)
	case 4:
		p.addMany(parent)
	case 5, 6, 7:
		err := hierarchy.ErrAbsent
		if p.parent[a] != handle.None {
			p.leave(a, gap)
			err = nil
		}
		is(p.tree.RemoveChild(a, gap), err, "remove %v, %v", a, gap)
	case 8:
		is(p.tree.Move(a, parent, gap), p.seat(a, parent, spot{"end", 0}, gap, false), "move %v to %v, %v", a, parent, gap)
	case 9:
		is(p.tree.MoveAt(a, parent, place, gap), p.seat(a, parent, spot{"before", place}, gap, false), "move %v to %v at %d, %v", a, parent, place, gap)
	case 10:
		p.moveBeside(a, b, gap)
	case 11, 12:
		is(p.tree.Put(a, parent, place, gap), p.seat(a, parent, spot{"into", place}, gap, false), "put %v into %v at %d, %v", a, parent, place, gap)
	case 13:
		is(p.tree.Put(a, parent, hierarchy.Free, gap), p.seat(a, parent, spot{"free", 0}, gap, false), "put %v into %v, %v", a, parent, gap)
	case 14:
		is(p.tree.Swap(a, b), p.swap(a, b), "swap %v and %v", a, b)
	case 15:
		other := p.rand.IntN(len(p.lists[parent]) + 1)
		if up := p.parent[a]; up != handle.None && place%2 == 0 {
			parent = up
		}
		err := hierarchy.ErrElsewhere
		if p.parent[a] == parent {
			err = p.swapPlaces(parent, slices.Index(p.lists[parent], a), other)
		}
		is(p.tree.Reorder(a, parent, other), err, "%v to place %d of %v", a, other, parent)
	case 16:
		if p.rand.IntN(4) == 0 {
			places := p.rand.IntN(7)
			is(p.tree.SetPlaces(parent, places), p.setPlaces(parent, places), "%d places for %v", places, parent)
		}
	case 17:
		err := hierarchy.ErrAbsent
		if p.hasList(parent) {
			p.close(parent)
			err = nil
		}
		is(p.tree.RemoveHoles(parent), err, "close holes of %v", parent)
	case 18:
		p.sort(parent)
	case 19:
		p.added[a] = true
		is(p.tree.Add(a), nil, "add %v", a)
	case 20, 21:
		is(p.tree.Remove(a, gap), p.remove(a, gap), "remove %v, %v", a, gap)
	case 22:
		if p.rand.IntN(4) == 0 {
			is(p.tree.RemoveBranch(a, gap), p.removeBranch(a, gap), "remove branch %v, %v", a, gap)
			p.replace(a)
		}
	case 23:
		to, from := p.any(), p.any()
		if p.rand.IntN(2) == 0 {
			from = p.parent[a]
		}
		err := hierarchy.ErrElsewhere
		if p.parent[a] == from {
			err = p.seat(a, to, spot{"free", 0}, gap, false)
		}
		is(p.tree.PutFrom(a, from, to, hierarchy.Free, gap), err, "transfer %v from %v to %v", a, from, to)
	}
	require.True(p.t, errors.Is(got, want) && (got == nil) == (want == nil), "%s: got %v, want %v", what, got, want)
	// The check build takes as long for this as for a hundred steps, and the other build sees the same.
	if p.steps++; !check.Enabled || p.steps%8 == 0 {
		require.NoError(p.t, p.tree.Verify(), what)
	}
}

func (p *pair) hasList(h handle.Handle) bool { return p.added[h] || p.fixed[h] || p.count(h) > 0 }

func (p *pair) addMany(parent handle.Handle) {
	children := []handle.Handle{p.any(), p.any(), p.any()}
	before, err := p.clone(), p.tree.AddChildren(parent, children)
	for _, child := range children {
		if want := p.seat(child, parent, spot{"end", 0}, hierarchy.Close, true); want != nil {
			require.ErrorIs(p.t, err, want)
			*p.naive = before
			return
		}
	}
	require.NoError(p.t, err)
}

func (p *pair) moveBeside(a, sibling handle.Handle, gap hierarchy.Gap) {
	got := p.tree.MoveBefore(a, sibling, gap)
	parent := p.parent[sibling]
	if parent == handle.None || a == sibling {
		require.ErrorIs(p.t, got, hierarchy.ErrAbsent)
		return
	}
	if got != nil {
		require.Error(p.t, p.seat(a, parent, spot{"before", 0}, gap, false), "refused: %v", got)
		return
	}
	p.leave(a, gap)
	place := slices.Index(p.lists[parent], sibling)
	require.NoError(p.t, p.seat(a, parent, spot{"before", place}, gap, false))
}

func (p *pair) sort(parent handle.Handle) {
	byIndex := func(a, b handle.Handle) int { return int(a.Index()%7) - int(b.Index()%7) }
	got := p.tree.Sort(parent, byIndex)
	if !p.hasList(parent) {
		require.ErrorIs(p.t, got, hierarchy.ErrAbsent)
		return
	}
	require.NoError(p.t, got)
	p.close(parent)
	slices.SortStableFunc(p.lists[parent][:p.count(parent)], byIndex)
}

// replace puts the next entity of the slot in the place of one that is gone.
func (p *pair) replace(h handle.Handle) {
	if i := slices.Index(p.all, h); !p.has(h) && h.Version() < 100 {
		p.all[i] = h + 1
	}
}

// compare reads everything from both.
func (p *pair) compare() { p.compareBy(p.tree.Read()) }

// compareBy reads everything by a reader.
func (p *pair) compareBy(r *hierarchy.Reader) {
	links := 0
	for _, h := range p.all {
		require.Equal(p.t, p.has(h), r.Has(h), "has %v", h)
		require.Equal(p.t, p.parent[h], r.Parent(h), "parent of %v", h)
		require.True(p.t, slices.Equal(p.lists[h], r.Children(h)), "children of %v: %v, want %v", h, r.Children(h), p.lists[h])
		require.Equal(p.t, p.count(h), r.Count(h))
		require.Equal(p.t, p.fixed[h], r.Fixed(h))
		for i, child := range p.lists[h] {
			require.Equal(p.t, child, r.At(h, i))
			if child != handle.None {
				place, ok := r.Place(child)
				require.True(p.t, ok)
				require.Equal(p.t, i, place)
			}
		}
		require.Equal(p.t, handle.None, r.At(h, len(p.lists[h])))
		up := p.ancestors(h)
		require.Equal(p.t, len(up), r.Depth(h))
		require.Equal(p.t, up, slices.Collect(r.Ancestors(h)))
		require.Equal(p.t, append([]handle.Handle{h}, up...)[len(up)], r.Root(h))
		links += p.count(h)
		require.False(p.t, r.Has(h-1), "an earlier version of %v", h)
		require.Nil(p.t, r.Children(h-1))
	}
	require.Equal(p.t, links, p.tree.Links())
	h, a := p.any(), p.any()
	require.Equal(p.t, h != a && p.isAncestor(a, h), r.IsAncestor(a, h))
	require.Equal(p.t, p.descendants(h), slices.Collect(r.DepthFirst(h)))
	levels := p.levels(h)
	require.Equal(p.t, slices.Concat(levels...), slices.Collect(r.BreadthFirst(h)))
}

// TestRandom does random things to a tree and to a naive one of maps. The
// invariants are checked after each step, everything is compared after some: to
// look is to close gaps, and they are to be left open as well.
func TestRandom(t *testing.T) {
	for seed := range uint64(iterations(60)) {
		o := hierarchy.Memory{KeepCapacity: seed%4 == 1}
		if seed%3 == 0 {
			o.Buckets = []int{1, 2, 3}
		}
		if seed%5 == 0 {
			o.Reserve = hierarchy.Room{Entities: 100, Parents: 20, Buckets: []int{5, 5}, Homes: 3}
		}
		p := newPair(t, seed, o, 10+int(seed))
		for i := range 2000 {
			p.step()
			if p.rand.IntN(20) == 0 || i < 50 {
				p.compare()
			}
			if p.rand.IntN(200) == 0 {
				p.tree.Settle()
				require.Zero(t, p.tree.OpenLists())
			}
			if p.rand.IntN(300) == 0 {
				p.tree.Reserve(hierarchy.Room{Entities: 10, Parents: 3, Buckets: []int{2}, Homes: 2})
			}
			if p.rand.IntN(100) == 0 {
				p.tree.Divide(p.rand.IntN(6))
			}
			if p.rand.IntN(200) == 0 {
				p.reload(o)
			}
		}
		p.compare()
	}
}

// reload goes on with what was saved and loaded, into a new tree or the same.
func (p *pair) reload(o hierarchy.Memory) {
	p.tree.Divide(0) // an image has the links that a tree of its size has
	image := p.tree.Save(nil)
	require.Len(p.t, image, p.tree.SaveSize())
	if p.rand.IntN(2) == 0 {
		require.NoError(p.t, p.tree.Load(image))
	} else {
		tree, err := hierarchy.Load(image, o)
		require.NoError(p.t, err)
		p.tree = tree
	}
	require.NoError(p.t, p.tree.Verify())
	require.Equal(p.t, image, p.tree.Save(nil))
}

// TestSortPanics leaves a sound tree behind when compare panics.
func TestSortPanics(t *testing.T) {
	p := newPair(t, 1, hierarchy.Memory{}, 40)
	for _, child := range p.all[1:] {
		require.NoError(t, p.tree.AddChild(p.all[0], child))
	}
	n := 0
	require.PanicsWithValue(t, "enough", func() {
		_ = p.tree.Sort(p.all[0], func(a, b handle.Handle) int {
			if n++; n > 40 {
				panic("enough")
			}
			return b.Compare(a)
		})
	})
	require.NoError(t, p.tree.Verify())
	require.ElementsMatch(t, p.all[1:], p.tree.Read().Children(p.all[0]))
}
