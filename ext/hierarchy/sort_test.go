package hierarchy_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// sortScene is a fixture with a parent that has children out of order, beside another parent.
type sortScene struct {
	*fixture
	parent, other handle.Handle
	children      []handle.Handle // as they are
	image         []byte          // of an empty relation
}

func newSortScene(t *testing.T) *sortScene {
	f := newFixture(t, 2, hierarchy.Options{})
	image := f.rel.Save(nil)
	h := f.make(40)
	children := slices.Clone(h[2:32])
	slices.Reverse(children)
	f.add(h[0], children...)
	f.add(h[1], h[32:38]...)
	return &sortScene{f, h[0], h[1], children, image}
}

// sort sorts the children of the parent by handle, and does something within the first comparison.
func (s *sortScene) sort(within func()) error {
	return s.rel.Sort(s.World, s.parent, func(a, b handle.Handle) int {
		if do := within; do != nil {
			within = nil
			do()
		}
		return a.Compare(b)
	})
}

// expect compares the relation, and a frame that is made of it now, with what they should be.
func (s *sortScene) expect(children []handle.Handle, what string) {
	s.t.Helper()
	s.sound()
	frame := s.now(s.rel)
	defer frame.Release()
	for _, read := range []*hierarchy.Reader{s.read, s.rel.Read(frame)} {
		require.Equal(s.t, children, read.Children(s.parent), what)
		for i, child := range children {
			place, ok := read.Place(child)
			require.True(s.t, ok && place == i && read.Parent(child) == s.parent, "%s: child %d", what, i)
		}
	}
}

// TestSortRefuses calls, within the comparison of a Sort by the World, what would change what is
// being sorted. Each panics and says so, and the relation is as it was.
func TestSortRefuses(t *testing.T) {
	const rows = "inside the comparison of Relation.Sort; call it after that"
	const changes = "within the comparison of a Sort; change the relation after it"
	for name, x := range map[string]struct {
		says string
		do   func(s *sortScene)
	}{
		"Refresh":      {rows, func(s *sortScene) { s.Destroy(s.children[3]); s.Refresh() }},
		"Clear":        {rows, func(s *sortScene) { s.Clear() }},
		"Close":        {rows, func(s *sortScene) { s.Close() }},
		"a tick":       {rows, func(s *sortScene) { engine.Of(s.World).BeginTick() }},
		"a migration":  {rows, func(s *sortScene) { _ = world.Move(s.World, s.children[0], 1) }},
		"AddChild":     {changes, func(s *sortScene) { _ = s.rel.AddChild(s.World, s.parent, s.other) }},
		"AddChildren":  {changes, func(s *sortScene) { _ = s.rel.AddChildren(s.World, s.parent, make([]handle.Handle, 100)...) }},
		"RemoveChild":  {changes, func(s *sortScene) { _ = s.rel.RemoveChild(s.World, s.children[0], hierarchy.Swap) }},
		"Move":         {changes, func(s *sortScene) { _ = s.rel.Move(s.World, s.children[0], s.other) }},
		"Load":         {changes, func(s *sortScene) { _ = s.rel.Load(s.image) }},
		"its own":      {"boom", func(*sortScene) { panic("boom") }},
		"a Sort in it": {rows, func(s *sortScene) { _ = s.sort(s.Refresh) }},
	} {
		for _, again := range []bool{false, true} { // the caller's comparison may recover
			s := newSortScene(t)
			s.now(s.rel).Release()
			var said any
			try := func(f func()) {
				defer func() {
					if v := recover(); v != nil {
						said = v
					}
				}()
				f()
			}
			want := s.children
			if again {
				want = slices.Sorted(slices.Values(want))
				require.NoError(t, s.sort(func() { try(func() { x.do(s) }) }), name)
			} else {
				try(func() { _ = s.sort(func() { x.do(s) }) })
			}
			require.Contains(t, said, x.says, name)
			s.expect(want, name)
			s.Refresh()
			require.NoError(t, s.sort(nil), name)
			s.sound()
		}
	}
}

// TestSortAllows calls what moves nothing within the comparison of a Sort by the World: it sees the
// children as they were.
func TestSortAllows(t *testing.T) {
	for name, do := range map[string]func(s *sortScene){
		"Sort of the same": func(s *sortScene) { require.NoError(t, s.sort(nil)) },
		"Sort of another":  func(s *sortScene) { require.NoError(t, s.rel.Sort(s.World, s.other, handle.Handle.Compare)) },
		"Create":           func(s *sortScene) { s.make(3000) },
		"Destroy":          func(s *sortScene) { s.Destroy(s.children[3]) },
		"Reserve":          func(s *sortScene) { s.rel.Reserve(hierarchy.Room{Entities: 1000, Parents: 100}) },
		"a request":        func(s *sortScene) { require.NoError(t, s.rel.Move(s.port(), s.children[0], s.other)) },
		"Read":             func(s *sortScene) { s.expect(s.children, "not yet") },
		"Save":             func(s *sortScene) { require.NotEmpty(t, s.rel.Save(nil)) },
	} {
		s := newSortScene(t)
		s.now(s.rel).Release()
		require.NoError(t, s.sort(func() { do(s) }), name)
		s.expect(slices.Sorted(slices.Values(s.children)), name)
		s.Refresh()
		s.sound()
	}
}

// TestTreeSort changes a tree within the comparison of its Sort, which panics if those are others
// that it compares, and does what it should if not.
func TestTreeSort(t *testing.T) {
	h := func(n int) handle.Handle { return handle.Handle(n)<<handle.VersionBits | 1 }
	build := func() *hierarchy.Tree {
		tree := hierarchy.NewTree(hierarchy.Memory{})
		for n := 30; n > 1; n-- {
			require.NoError(t, tree.AddChild(h(1), h(n)))
		}
		require.NoError(t, tree.AddChild(h(100), h(101)))
		return tree
	}
	for name, x := range map[string]struct {
		panics bool
		do     func(tree *hierarchy.Tree) error
	}{
		"leaves": {true, func(tree *hierarchy.Tree) error { return tree.RemoveChild(h(7), hierarchy.Close) }},
		"comes":  {true, func(tree *hierarchy.Tree) error { return tree.AddChild(h(1), h(50)) }},
		"is other": {true, func(tree *hierarchy.Tree) error {
			return errors.Join(tree.RemoveChild(h(7), hierarchy.Close), tree.AddChild(h(1), h(50)))
		}},
		"all":   {true, func(tree *hierarchy.Tree) error { return tree.RemoveBranch(h(1), hierarchy.Close) }},
		"moves": {false, func(tree *hierarchy.Tree) error { return tree.MoveAt(h(7), h(1), 0, hierarchy.Close) }},
		"grows": {false, func(tree *hierarchy.Tree) error {
			for n := range 500 {
				if err := tree.AddChild(h(100), h(200+n)); err != nil {
					return err
				}
			}
			return nil
		}},
	} {
		tree, done := build(), false
		sort := func() {
			require.NoError(t, tree.Sort(h(1), func(a, b handle.Handle) int {
				if !done {
					done = true
					require.NoError(t, x.do(tree))
				}
				return a.Compare(b)
			}))
		}
		if x.panics {
			require.PanicsWithValue(t, "hierarchy: Sort: the comparison has changed the children that it compares; change them after the Sort", sort, name)
		} else {
			sort()
			require.True(t, slices.IsSorted(tree.Read().Children(h(1))), name)
		}
		require.NoError(t, tree.Verify(), name)
	}
}
