package hierarchy

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

// change is a change of the entity that it is applied to or sent with.
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
	case opMoveBefore, opMoveAfter:
		return t.insert(h, c, beside)
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
		return t.RemoveChild(h, c.gap)
	case opAdd:
		return t.Add(h)
	case opRemove:
		return t.Remove(h, c.gap)
	case opSwap:
		return t.swap(h, c.to)
	case opSort:
		if t.parent(h) != c.from {
			return ErrElsewhere
		}
		t.settled(t.own(c.from))
		return t.SwapPlaces(c.from, t.placeOf(h), int(c.place))
	case opSwapPlaces:
		return t.SwapPlaces(h, int(c.place), int(c.from))
	case opSetPlaces:
		return t.SetPlaces(h, int(c.place))
	default: // opRemoveHoles
		return t.RemoveHoles(h)
	}
}

// do makes a change, for a call of the user's.
func (t *Tree) do(h handle.Handle, c change) error { return t.named(t.change(h, &c)) }

// named returns the error of a public call: for ErrCycle a CycleError with the path that was noted.
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

// cycle notes the path down from child to parent, which is the child or below it, and
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
	t.touchPlaces(t.number(la), pa, pa+1)
	t.touchPlaces(t.number(lb), pb, pb+1)
	ia[pa], ib[pb] = b, a
	t.link(a, t.number(lb), pb)
	t.link(b, t.number(la), pa)
	return nil
}
