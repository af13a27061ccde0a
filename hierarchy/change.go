package hierarchy

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// change is a wish: what is to become of the entity that it is sent with.
type change struct {
	to    handle.Handle // the parent, or whoever else it is about
	from  handle.Handle
	place int32
	op    op
	gap   Gap
}

// op says what a change does.
type op uint8

const (
	opAdd op = iota
	opRemove
	opAddChild
	opAddChildAt
	opRemoveChild
	opRemoveHoles
	opMove
	opMoveAt
	opMoveBefore
	opMoveAfter
	opSwap
	opSwapPlaces
	opSeat
	opSetPlaces
	opPut
	opPutFree
	opTransfer
	ops
)

// String names the op as the method that asks for it.
func (o op) String() string {
	if o >= ops {
		return "unknown"
	}
	return [...]string{
		"Add", "Remove", "AddChild", "AddChildAt", "RemoveChild", "RemoveHoles", "Move", "MoveAt", "MoveBefore", "MoveAfter",
		"Swap", "SwapPlaces", "Sort", "SetPlaces", "Put", "PutFree", "Transfer",
	}[o]
}

// do makes a change, by an idle world at once, or sends the request.
func (r *Relation) do(by world.Actor, h handle.Handle, c change) error {
	w, ok := by.(*world.World)
	if !ok {
		return r.requests.Send(by, h, c)
	}
	r.requests.Check(by)
	if !r.driver.Idle() {
		if err := w.Err(); err != nil {
			return err
		}
		r.mustIdle(c.op.String())
	}
	if r.comparing {
		panic(fmt.Sprintf("hierarchy: Relation.%s of %q within the comparison of a Sort; change the relation after it", c.op, r.name))
	}
	if !r.alive(h) || c.to != handle.None && !r.alive(c.to) {
		return world.ErrStale
	}
	return r.tree.named(r.change(h, &c))
}

// alive reports whether an entity is alive, for an idle world: who is in the relation
// is.
func (r *Relation) alive(h handle.Handle) bool {
	return r.tree.look(h) != 0 || r.w.Locate(h) != 0
}

// change makes a change of living entities.
func (r *Relation) change(h handle.Handle, c *change) error {
	if r.options.Places == 0 {
		return r.changed(h, c)
	}
	parent := c.to
	switch c.op {
	case opAdd:
		parent = h
	case opSwap, opMoveBefore, opMoveAfter:
		parent = handle.None
	}
	fresh := parent != handle.None && !r.tree.look(parent).hasList()
	if fresh {
		if err := r.tree.SetPlaces(parent, r.options.Places); err != nil {
			return err
		}
	}
	err := r.changed(h, c)
	if n := r.tree.look(parent); err != nil && fresh && n.hasList() {
		r.tree.dropList(r.tree.number(n))
	}
	return err
}

// changed makes a change; new parents have their fixed places.
func (r *Relation) changed(h handle.Handle, c *change) error {
	t, gap := r.tree, r.options.OnChildDeath
	switch c.op {
	case opAddChild:
		return t.adopt(c.to, h, atEnd, 0)
	case opAddChildAt:
		return t.adopt(c.to, h, before, int(c.place))
	case opMove:
		return t.moveChild(h, c.to, atEnd, 0, gap)
	case opMoveAt:
		return t.moveChild(h, c.to, before, int(c.place), gap)
	case opMoveBefore:
		return t.moveBeside(h, c.to, 0, gap)
	case opMoveAfter:
		return t.moveBeside(h, c.to, 1, gap)
	case opPut:
		return t.moveChild(h, c.to, into, int(c.place), gap)
	case opPutFree:
		return t.moveChild(h, c.to, free, 0, gap)
	case opTransfer:
		switch {
		case t.parent(h) != c.from:
			return ErrElsewhere
		case c.place < 0:
			return t.moveChild(h, c.to, free, 0, gap)
		}
		return t.moveChild(h, c.to, into, int(c.place), gap)
	case opSeat:
		if t.parent(h) != c.from {
			return ErrElsewhere
		}
		t.settled(t.number(t.linkOf(t.look(h))))
		return t.SwapPlaces(c.from, t.placeOf(h), int(c.place))
	}
	return r.arrange(h, c)
}

// arrange makes the changes that are about one entity and its own list.
func (r *Relation) arrange(h handle.Handle, c *change) error {
	t := r.tree
	switch c.op {
	case opAdd:
		return t.Add(h)
	case opRemove:
		return r.remove(h)
	case opRemoveChild:
		return t.RemoveChild(h, c.gap)
	case opRemoveHoles:
		return t.RemoveHoles(h)
	case opSwap:
		return t.swap(h, c.to)
	case opSwapPlaces:
		return t.SwapPlaces(h, int(c.place), int(c.from))
	default: // opSetPlaces
		return t.SetPlaces(h, int(c.place))
	}
}

// remove takes an entity out of the relation.
func (r *Relation) remove(h handle.Handle) error {
	t := r.tree
	if n := t.look(h); n.hasList() && t.list(t.number(n)).children() > 0 {
		switch r.options.OnParentDeath {
		case Destroy, Refuse:
			return ErrChildren
		}
		r.giveUp(t.number(n), t.parent(h))
	}
	return t.Remove(h, r.options.OnChildDeath)
}

// giveUp makes the children of a list those of the grandparent, if that is the
// policy and there is one, or nobody's.
func (r *Relation) giveUp(number uint32, to handle.Handle) {
	if r.options.OnParentDeath == Grandparent && to != handle.None {
		for _, child := range r.tree.items(number) {
			if child != handle.None {
				r.gifts = append(r.gifts, gift{child, to})
			}
		}
	}
	r.tree.unlinkChildren(number)
	r.give()
}

// limit makes a number of places, or a place, that is beyond the limit one that is
// refused.
func (r *Relation) limit(place int) int32 {
	if place > r.options.PlacesMax {
		place = PlaceMax + 1
	}
	return clamp(place)
}

// clamp makes a place that is out of range one that still is.
func clamp(place int) int32 { return int32(min(max(place, -1), PlaceMax+1)) }
