package hierarchy

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

// RemoveHoles closes the holes of a list, in order. In a fixed list the free
// places are then the last. It returns ErrAbsent if the entity has no list.
func (t *Tree) RemoveHoles(parent handle.Handle) error {
	n := t.look(parent)
	if !t.listed(n) {
		return ErrAbsent
	}
	t.close(t.number(n))
	t.trimList(t.number(n))
	return nil
}

// Sort puts the children of an entity in order, those that are alike in the order
// in which they are. Holes come last. O(children · log children).
func (t *Tree) Sort(parent handle.Handle, compare func(a, b handle.Handle) int) error {
	n := t.look(parent)
	if !t.listed(n) {
		return ErrAbsent
	}
	t.close(t.number(n))
	l := t.list(t.number(n))
	defer t.renumber(t.number(n), 0) // even if compare panics
	slices.SortStableFunc(t.items(t.number(n))[:l.children()], compare)
	return nil
}

// SwapPlaces exchanges what is at two places of a list: children or nothing.
func (t *Tree) SwapPlaces(parent handle.Handle, i, j int) error {
	n := t.look(parent)
	if !t.listed(n) {
		return ErrAbsent
	}
	t.settled(t.number(n))
	items := t.items(t.number(n))
	if min(i, j) < 0 || max(i, j) >= len(items) {
		return ErrPlace
	}
	items[i], items[j] = items[j], items[i]
	for _, p := range [...]int{i, j} {
		if items[p] != handle.None {
			t.link(items[p], t.number(n), p)
		}
	}
	t.trim(t.number(n))
	return nil
}

// Swap exchanges the places of two children, of one parent or of two. It returns
// ErrAbsent if one of them has no parent, a CycleError if one is the other's
// ancestor.
func (t *Tree) Swap(a, b handle.Handle) error { return t.named(t.swap(a, b)) }

func (t *Tree) swap(a, b handle.Handle) error {
	na, nb := t.look(a), t.look(b)
	la, lb := t.linkOf(na), t.linkOf(nb)
	switch {
	case la == 0 || lb == 0:
		return ErrAbsent
	case a == b:
		return nil
	case na.hasList() && t.isAncestor(a, b):
		return t.cycle(a, t.parent(b))
	case nb.hasList() && t.isAncestor(b, a):
		return t.cycle(b, t.parent(a))
	}
	ia, ib := t.items(t.number(la)), t.items(t.number(lb))
	pa, pb := t.split.placeIn(ia, a, la), t.split.placeIn(ib, b, lb)
	ia[pa], ib[pb] = b, a
	t.link(a, t.number(lb), pb)
	t.link(b, t.number(la), pa)
	return nil
}

// SetPlaces makes the list of an entity a fixed one of n places, whose index is
// meaning: children that leave make holes, and none is added beyond. With 0 it
// becomes one that grows and shrinks again. It returns ErrTaken if a place beyond
// is taken.
func (t *Tree) SetPlaces(parent handle.Handle, n int) error {
	if n < 0 || n > PlaceMax {
		return ErrPlace
	}
	number, err := t.listOf(parent)
	if err != nil {
		return err
	}
	l := t.settled(number)
	if n == 0 {
		l.unset(fixed)
		l.set(holes)
		t.trim(number)
		t.trimList(number)
		return nil
	}
	for p := l.places() - 1; p >= n; p-- {
		if t.items(number)[p] != handle.None {
			return ErrTaken
		}
	}
	was := min(l.places(), n)
	if err := t.makeRoom(number, n); err != nil {
		t.trimList(number)
		return err
	}
	l.setPlaces(n)
	clear(t.items(number)[was:])
	l.unset(holes)
	l.set(fixed)
	return nil
}

// Put takes a child to a free place of a list, from wherever it is: in another
// parent's, where what gap says becomes of the place it leaves, in the same, where it
// leaves a hole, or in none. It is one step: the child is never in no place, nor in
// two. A list that is not fixed grows as far as needed.
//
// It returns ErrTaken, ErrPlace for a place that a fixed list has not, or a
// CycleError.
func (t *Tree) Put(child, parent handle.Handle, place int, gap Gap) error {
	return t.named(t.moveChild(child, parent, into, place, gap))
}

// PutFree is Put into the first free place, of a list that is not fixed a hole or
// the end. A child that is in a list without a free place stays where it is. It
// returns ErrNoPlace if a fixed list is full.
func (t *Tree) PutFree(child, parent handle.Handle, gap Gap) error {
	return t.named(t.moveChild(child, parent, free, 0, gap))
}

// Transfer is Put, or with a negative place PutFree, of a child that must be
// from's, or with None nobody's. Of two who want the same item only the first gets
// it: for the other it returns ErrElsewhere.
func (t *Tree) Transfer(child, from, to handle.Handle, place int, gap Gap) error {
	if t.parent(child) != from {
		return ErrElsewhere
	}
	if place < 0 {
		return t.PutFree(child, to, gap)
	}
	return t.Put(child, to, place, gap)
}
