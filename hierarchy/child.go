package hierarchy

import "github.com/atoll-sim/atoll/handle"

// AddChild makes an entity a child of another, behind those it has; in a fixed
// list, at the first free place. Both come to be in the tree. O(1), or for a child
// that has children itself, O(depth).
//
// It returns ErrParent if the child has a parent already, a CycleError if it is the
// parent or its ancestor, ErrNoPlace if a fixed list is full.
func (t *Tree) AddChild(parent, child handle.Handle) error {
	return t.named(t.adopt(parent, child, atEnd, 0))
}

// AddChildAt is AddChild at a place, from 0 to the number of places: those from
// there on move back by one. O(children behind). It returns ErrPlace beyond, and
// ErrFixed for a fixed list.
func (t *Tree) AddChildAt(parent, child handle.Handle, place int) error {
	return t.named(t.adopt(parent, child, before, place))
}

// AddChildren is AddChild for each in turn, with room made once. On an error those
// before it are added; it returns how many.
func (t *Tree) AddChildren(parent handle.Handle, children []handle.Handle) (int, error) {
	if err := t.expect(parent, len(children)); err != nil {
		return 0, err
	}
	for i, child := range children {
		if err := t.AddChild(parent, child); err != nil {
			t.trimListOf(parent)
			return i, err
		}
	}
	return len(children), nil
}

// RemoveChild takes a child out of its parent: with children of its own, or if it
// was added, it stays in the tree as a root. It returns ErrAbsent if it has no
// parent.
func (t *Tree) RemoveChild(child handle.Handle, gap Gap) error {
	if gap == Swap && t.swapRemove(child) {
		return nil
	}
	if t.linkOf(t.look(child)) == 0 {
		return ErrAbsent
	}
	t.detach(child, gap)
	return nil
}

// Move makes an entity a child of another, taking it out of the parent that it
// has, if any, where what gap says becomes of its place. It goes behind the others,
// or in a fixed list to the first free place. Errors as of AddChild, but for
// ErrParent.
func (t *Tree) Move(child, parent handle.Handle, gap Gap) error {
	return t.named(t.moveChild(child, parent, atEnd, 0, gap))
}

// MoveAt is Move to a place, counted when the child has left its old one: those
// from there on move back by one. Errors as of AddChildAt.
func (t *Tree) MoveAt(child, parent handle.Handle, place int, gap Gap) error {
	return t.named(t.moveChild(child, parent, before, place, gap))
}

// MoveBefore is Move to the place of a sibling to be, who moves back by one with
// those behind. It returns ErrAbsent if that one has no parent.
func (t *Tree) MoveBefore(child, sibling handle.Handle, gap Gap) error {
	return t.named(t.moveBeside(child, sibling, 0, gap))
}

// MoveAfter is MoveBefore for the place behind the sibling.
func (t *Tree) MoveAfter(child, sibling handle.Handle, gap Gap) error {
	return t.named(t.moveBeside(child, sibling, 1, gap))
}

func (t *Tree) moveBeside(child, sibling handle.Handle, after int, gap Gap) error {
	number := t.number(t.linkOf(t.look(sibling)))
	if number == 0 || child == sibling {
		return ErrAbsent
	}
	last := t.settled(number).places() - 1
	place := t.placeOf(sibling)
	if t.number(t.linkOf(t.look(child))) == number { // the sibling may move when the child leaves
		switch was := t.placeOf(child); {
		case gap == Close && was < place:
			place--
		case gap == Swap && place == last:
			place = was
		}
	}
	return t.moveChild(child, t.owners[number], before, place+after, gap)
}

// placeOf returns the place of a child, whose list has no open gaps.
func (t *Tree) placeOf(child handle.Handle) int {
	link := t.linkOf(t.look(child))
	return t.split.placeIn(t.items(t.number(link)), child, link)
}

// adopt is move for a child that must not have a parent.
func (t *Tree) adopt(parent, child handle.Handle, where insertMode, place int) error {
	if where == atEnd && t.append(parent, child) {
		return nil
	}
	n := t.look(child)
	if n != 0 {
		if t.linkOf(n) != 0 {
			return ErrParent
		}
		if n.hasList() && t.isAncestor(child, parent) {
			return t.cycle(child, parent)
		}
	}
	if child == parent {
		return t.cycle(child, parent)
	}
	if _, err := t.node(child); err != nil {
		return err
	}
	number, err := t.listOf(parent)
	if err != nil {
		return err
	}
	if place, err = t.prepare(number, where, place); err != nil {
		t.trimList(number)
		return err
	}
	t.enter(number, child, where, place)
	return nil
}
