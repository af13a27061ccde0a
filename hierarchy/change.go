package hierarchy

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

// change is what is to become of the entity that it is applied to, or sent with.
type change struct {
	to    handle.Handle // the parent, the sibling or the partner
	from  handle.Handle // the parent that the entity must have; of SwapPlaces the other place
	place int32
	op    op
	gap   Gap // what becomes of the place that the entity leaves
}

// op says what a change does.
type op uint8

const (
	opAddChild op = iota
	opAddChildAt
	opAdd
	opRemove
	opRemoveChild
	opRemoveHoles
	opMove
	opMoveAt
	opMoveBefore
	opMoveAfter
	opSwap
	opSwapPlaces
	opSort // of one child: to its place in the order
	opSetPlaces
	opPut
	opPutFree
	opTransfer
)

// String names the op as the method that asks for it.
func (o op) String() string {
	return [...]string{
		"AddChild", "AddChildAt", "Add", "Remove", "RemoveChild", "RemoveHoles", "Move", "MoveAt", "MoveBefore", "MoveAfter",
		"Swap", "SwapPlaces", "Sort", "SetPlaces", "Put", "PutFree", "Transfer",
	}[o]
}

// change makes a change. The path of an ErrCycle is in t.path.
func (t *Tree) change(h handle.Handle, c *change) error {
	switch c.op {
	case opAddChild, opMove:
		return t.insert(h, c, atEnd)
	case opAddChildAt, opMoveAt:
		return t.insert(h, c, before)
	case opMoveBefore:
		return t.moveBeside(h, c, 0)
	case opMoveAfter:
		return t.moveBeside(h, c, 1)
	case opPut:
		return t.insert(h, c, into)
	case opPutFree:
		return t.insert(h, c, free)
	case opTransfer:
		switch {
		case t.parent(h) != c.from:
			return ErrElsewhere
		case c.place < 0:
			return t.insert(h, c, free)
		}
		return t.insert(h, c, into)
	case opRemoveChild:
		return t.removeChild(h, c.gap)
	case opAdd:
		return t.add(h)
	case opRemove:
		return t.remove(h, c.gap)
	case opSwap:
		return t.swap(h, c.to)
	case opSort:
		if t.parent(h) != c.from {
			return ErrElsewhere
		}
		t.settled(t.own(c.from))
		return t.swapPlaces(c.from, t.placeOf(h), int(c.place))
	case opSwapPlaces:
		return t.swapPlaces(h, int(c.place), int(c.from))
	case opSetPlaces:
		return t.setPlaces(h, int(c.place))
	default: // opRemoveHoles
		return t.removeHoles(h)
	}
}

// clamp makes a place that is out of range one that still is.
func clamp(place int) int32 { return int32(min(max(place, -1), PlaceMax+1)) }

// do makes a change, for a call of the user's.
func (t *Tree) do(h handle.Handle, c change) error { return t.named(t.change(h, &c)) }

// named returns the error of a public call: ErrCycle with the path that was noted.
func (t *Tree) named(err error) error {
	if err == ErrCycle {
		return &CycleError{slices.Clone(t.path)}
	}
	return err
}

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

// add keeps an entity in the tree, with or without children.
func (t *Tree) add(h handle.Handle) error {
	n, err := t.listOf(h)
	if err == nil {
		t.list(n).set(added)
	}
	return err
}

// remove takes an entity without children out of the tree.
func (t *Tree) remove(h handle.Handle, gap Gap) error {
	if t.list(t.own(h)).children() > 0 {
		return ErrChildren
	}
	return t.removeBranch(h, gap)
}

// removeBranch takes an entity and its descendants out of the tree.
func (t *Tree) removeBranch(h handle.Handle, gap Gap) error {
	had := t.has(h)
	for at := h; ; {
		if number := t.own(at); t.list(number).children() > 0 {
			t.list(number).unset(fixed)
			t.trim(number)
			items := t.items(number)
			at = items[len(items)-1]
			continue
		}
		if at == h {
			break
		}
		up := t.parent(at)
		t.erase(at, Hole)
		at = up
	}
	t.erase(h, gap)
	if !had {
		return ErrAbsent
	}
	return nil
}

// erase forgets an entity without children.
func (t *Tree) erase(h handle.Handle, gap Gap) {
	t.detach(h, gap)
	if number := t.own(h); number != 0 {
		t.dropList(number)
	}
}

// removeChild takes a child out of its parent.
func (t *Tree) removeChild(child handle.Handle, gap Gap) error {
	if gap == Swap && t.swapRemove(child) {
		return nil
	}
	if !t.detach(child, gap) {
		return ErrAbsent
	}
	return nil
}

// removeHoles closes the holes of a list. In a fixed list the free places are then
// the last.
func (t *Tree) removeHoles(parent handle.Handle) error {
	number := t.listed(parent)
	if number == 0 {
		return ErrAbsent
	}
	t.close(number)
	t.trimList(number)
	return nil
}

// swap exchanges the places of two children.
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

// swapPlaces exchanges what is at two places of a list.
func (t *Tree) swapPlaces(parent handle.Handle, i, j int) error {
	number := t.listed(parent)
	if number == 0 {
		return ErrAbsent
	}
	t.settled(number)
	items := t.items(number)
	if min(i, j) < 0 || max(i, j) >= len(items) {
		return ErrPlace
	}
	items[i], items[j] = items[j], items[i]
	for _, p := range [...]int{i, j} {
		if items[p] != handle.None {
			t.link(items[p], number, p)
		}
	}
	t.trim(number)
	return nil
}

// setPlaces makes the list of an entity a fixed one of n places, or with 0 one that is
// not.
func (t *Tree) setPlaces(parent handle.Handle, n int) error {
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
