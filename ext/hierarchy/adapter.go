package hierarchy

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
)

// adapter is a relation as the world sees it. It keeps its methods out of the
// exported ones of Relation.
type adapter struct{ *Relation }

// Begin closes the gaps that the idle world has left, so that systems only read.
func (a adapter) Begin() { a.tree.Settle() }

// Settle closes the gaps that the refresh has left, and goes on with a sweep.
func (a adapter) Settle() {
	a.forget()
	a.stale = true
	a.tree.Settle()
	a.tree.sweepSome(sweepWords)
}

// LinkSize returns the size of a request of the relation.
func (a adapter) LinkSize() uint32 { return a.requests.Size() }

// Children returns the children of an entity.
func (a adapter) Children(h handle.Handle) ([]handle.Handle, bool) {
	return a.tree.children(h), a.tree.list(a.tree.own(h)).is(fixed)
}

// Parent returns the parent of an entity.
func (a adapter) Parent(h handle.Handle) handle.Handle { return a.tree.parent(h) }

// Fix is SetPlaces without the limit.
func (a adapter) Fix(by engine.Actor, parent handle.Handle, places int) error {
	c := change{op: opSetPlaces, place: clamp(places)}
	if _, ok := engine.Is(by).(*engine.World); ok {
		return a.early(parent, &c)
	}
	return a.do(by, parent, c)
}

// Place is Put without the limit.
func (a adapter) Place(by engine.Actor, child, parent handle.Handle, place int) error {
	return a.do(by, child, change{op: opPut, to: parent, place: clamp(place)})
}

// Link is Put without the limit, or with a negative place AddChild, of an entity that the idle world
// is about to create.
func (a adapter) Link(child, parent handle.Handle, place int) error {
	c := change{op: opAddChild, to: parent}
	if place >= 0 {
		c = change{op: opPut, to: parent, place: clamp(place)}
	}
	return a.early(child, &c)
}

// early makes a change of an entity that the idle world is about to create.
func (a adapter) early(h handle.Handle, c *change) error {
	a.mustNotCompare(c.op.String())
	return a.tree.named(a.change(h, c))
}

// Unlink removes an entity, which is not created, and all below it.
func (a adapter) Unlink(h handle.Handle) { _ = a.tree.RemoveBranch(h, Hole) }

// Measure reports how many children there are.
func (a adapter) Measure(add func(extend.Measured)) {
	add(extend.Measured{Name: "atoll_relation_children", Help: "Children in a relation.", Of: a.name, Value: float64(a.tree.Links())})
	add(extend.Measured{Name: "atoll_relation_bytes", Help: "Memory of a relation.", Of: a.name, Value: float64(a.tree.Bytes())})
}

// AppendFollowers appends the children of an entity.
func (a adapter) AppendFollowers(tx *engine.Tx, dst []handle.Handle, h handle.Handle) []handle.Handle {
	items := a.tree.items(a.tree.own(h))
	if tx != nil && tx.Work(len(items)) != nil {
		return dst
	}
	for _, child := range items {
		if child != handle.None {
			dst = append(dst, child)
		}
	}
	return dst
}

// Unique reports false: several entities may have lists with the same children.
func (a adapter) Unique() bool { return false }
