package hierarchy

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

// isAncestor reports whether a is an ancestor of h, or h itself.
func (t *Tree) isAncestor(a, h handle.Handle) bool {
	for h != a {
		if h = t.parent(h); h == handle.None {
			return false
		}
	}
	return true
}

// cycle notes the path down from child to parent, which is below it or itself, and
// returns ErrCycle.
func (t *Tree) cycle(child, parent handle.Handle) error {
	t.path = t.path[:0]
	for h := parent; h != child; h = t.parent(h) {
		t.path = append(t.path, h)
	}
	t.path = append(t.path, child)
	slices.Reverse(t.path)
	return ErrCycle
}

// named returns the error of a public call: ErrCycle with the path that was noted.
func (t *Tree) named(err error) error {
	if err == ErrCycle {
		return &CycleError{slices.Clone(t.path)}
	}
	return err
}
