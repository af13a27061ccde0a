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
	opAdopt // is not sent: AddChild of one that is known to be no ancestor
)

// String names the op as the method that asks for it.
func (o op) String() string {
	return [...]string{
		"AddChild", "AddChildAt", "Add", "Remove", "RemoveChild", "RemoveHoles", "Move", "MoveAt", "MoveBefore", "MoveAfter",
		"Swap", "SwapPlaces", "Sort", "SetPlaces", "Put", "PutFree", "Transfer", "adopt",
	}[o]
}

// change makes a change. The path of an ErrCycle is in t.path and t.omitted.
func (t *Tree) change(h handle.Handle, c *change) error {
	switch c.op {
	case opAddChild, opMove, opAdopt:
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
		return &CycleError{slices.Clone(t.path), t.omitted}
	}
	return err
}

// climb returns an error if child is parent or an ancestor of it: ErrCycle, and notes the path. It
// returns ErrSteps if that takes too many steps to find out.
func (t *Tree) climb(child, parent handle.Handle) error {
	var low, high [pathEnds]handle.Handle // the first, and the last at n%pathEnds
	n := 0
	for h := parent; ; n++ {
		if n < pathEnds {
			low[n] = h
		}
		high[n%pathEnds] = h
		if h == child {
			break
		}
		if t.stepsMax > 0 && t.steps+n*linkSteps > t.stepsMax {
			t.steps += n * linkSteps
			return ErrSteps
		}
		if h = t.parent(h); h == handle.None {
			t.steps += n * linkSteps
			return nil
		}
	}
	t.steps += n * linkSteps
	t.path = append(t.path[:0], low[:min(n+1, pathEnds)]...)
	for i := max(pathEnds, n+1-pathEnds); i <= n; i++ {
		t.path = append(t.path, high[i%pathEnds])
	}
	slices.Reverse(t.path)
	t.omitted = max(0, n+1-2*pathEnds)
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
	}
	if na.hasList() {
		if err := t.climb(a, t.parent(b)); err != nil {
			return err
		}
	}
	if nb.hasList() {
		if err := t.climb(b, t.parent(a)); err != nil {
			return err
		}
	}
	ia, ib := t.items(t.number(la)), t.items(t.number(lb))
	pa, pb := t.placeIn(ia, a, la), t.placeIn(ib, b, lb)
	t.touchPlaces(t.number(la), pa, pa+1)
	t.touchPlaces(t.number(lb), pb, pb+1)
	ia[pa], ib[pb] = b, a
	t.link(a, t.number(lb), pb)
	t.link(b, t.number(la), pa)
	return nil
}
