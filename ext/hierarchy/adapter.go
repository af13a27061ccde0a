package hierarchy

import (
	"encoding/binary"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/world"
)

// adapter is a relation as the world sees it. It keeps its methods out of the
// exported ones of Relation.
type adapter struct{ *Relation }

// Begin closes the gaps that the idle world has left, so that systems only read.
func (k adapter) Begin() { k.tree.Settle() }

// Settle closes the gaps that the refresh has left, and goes on with a sweep.
func (k adapter) Settle() {
	k.forget()
	k.stale = true
	k.tree.Settle()
	k.tree.sweepSome(sweepWords)
}

// Follows reports whether children do not die with their parents.
func (k adapter) Follows() bool { return k.options.OnParentDeath != Destroy }

// Spare spares entities that have living children, if that is the policy. It also spares their
// ancestors among the dying, because these have a living child then.
func (k adapter) Spare(d *drive.DyingSet) bool {
	if k.options.OnParentDeath != Refuse {
		return false
	}
	k.forget()
	before := d.Spared()
	news, first := d.News()
	for _, h := range news {
		k.spare(d, k.tree.parent(h))
	}
	if first {
		living := func(child handle.Handle) bool { return child != handle.None && !d.Has(child) }
		for _, h := range d.All() {
			if d.Has(h) && slices.ContainsFunc(k.tree.items(k.tree.own(h)), living) {
				k.spare(d, h)
			}
		}
	}
	return d.Spared() > before
}

// spare spares h and its ancestors among the dying.
func (k adapter) spare(d *drive.DyingSet, h handle.Handle) {
	for ; h != handle.None && d.Has(h); h = k.tree.parent(h) {
		d.Spare(h)
		k.refuse(Refusal{Change: "Destroy", Entity: h, Err: ErrChildren})
	}
}

// Spread removes dying entities from the relation and applies the policy to their
// children. Children that it marks are removed with their parent; those of
// them that are parents wait in k.dying.
func (k adapter) Spread(d *drive.DyingSet, from int) {
	if k.options.OnParentDeath == Grandparent {
		for _, h := range d.All()[from:] { // while all links still exist
			k.passOn(h, d.Has)
		}
		k.forgetHeirs()
		k.takeBequests()
	}
	k.tree.putOff = true
	to := len(d.All())
	for i := from; i < to; i++ {
		k.dying = append(k.dying, d.All()[i])
		for n := len(k.dying); n > 0; n = len(k.dying) {
			h := k.dying[n-1]
			k.dying = k.dying[:n-1]
			k.remove(d, h)
		}
	}
	k.tree.closeGaps()
	k.adoptBequests()
}

// LinkSize returns the size of a request of the relation.
func (k adapter) LinkSize() uint32 { return k.requests.Size() }

// Children returns the children of an entity.
func (k adapter) Children(h handle.Handle) ([]handle.Handle, bool) {
	return k.tree.children(h), k.tree.list(k.tree.own(h)).is(fixed)
}

// Parent returns the parent of an entity.
func (k adapter) Parent(h handle.Handle) handle.Handle { return k.tree.parent(h) }

// Fix is SetPlaces without the limit.
func (k adapter) Fix(by any, parent handle.Handle, places int) error {
	c := change{op: opSetPlaces, place: clamp(places)}
	if _, ok := by.(*world.World); ok {
		return k.early(parent, &c)
	}
	return k.do(by.(world.Actor), parent, c)
}

// Place is Put without the limit.
func (k adapter) Place(by any, child, parent handle.Handle, place int) error {
	return k.do(by.(world.Actor), child, change{op: opPut, to: parent, place: clamp(place)})
}

// Link is Put without the limit, or with a negative place AddChild, of an entity that the idle world
// is about to create.
func (k adapter) Link(child, parent handle.Handle, place int) error {
	c := change{op: opAddChild, to: parent}
	if place >= 0 {
		c = change{op: opPut, to: parent, place: clamp(place)}
	}
	return k.early(child, &c)
}

// early makes a change of an entity that the idle world is about to create.
func (k adapter) early(h handle.Handle, c *change) error {
	k.mustNotCompare(c.op.String())
	return k.tree.named(k.change(h, c))
}

// Unlink removes an entity, which is not created, and all below it.
func (k adapter) Unlink(h handle.Handle) { _ = k.tree.RemoveBranch(h, Hole) }

// remove takes a dying entity out of the relation, and its children from it.
func (k adapter) remove(d *drive.DyingSet, h handle.Handle) {
	t := k.tree
	if t.look(h) == 0 {
		return
	}
	t.detach(h, k.options.OnChildDeath)
	number := t.own(h)
	if number == 0 {
		return
	}
	if k.options.OnParentDeath == Destroy {
		d.Mark(t.items(number))
		t.unlinkChildren(number, &k.dying)
	} else {
		t.unlinkChildren(number, nil)
	}
	t.dropList(number)
}

// unlinkChildren makes the children of a list roots, and appends those that have children
// to parents, unless that is nil.
func (t *Tree) unlinkChildren(number uint32, parents *[]handle.Handle) {
	for _, child := range t.items(number) {
		if child == handle.None {
			continue
		}
		at := t.dir.place(child)
		if n := node(*at); !n.hasList() {
			t.touchNode(child)
			*at = 0
			continue
		}
		t.unlink(child)
		if parents != nil {
			*parents = append(*parents, child)
		}
	}
	t.empty(number)
}

// empty says that a list has no places. Its children have no links to it, or will have others.
func (t *Tree) empty(number uint32) {
	l := t.list(number)
	t.touchList(number)
	t.links -= l.children()
	l.setPlaces(0)
	l[listState] &= childOne - 1
	l.unset(fixed)
	l.unsetOpen()
}

// AppendState appends all that decides what the relation does next, for a hash of
// the world's state: the options, what was refused, and the children of each parent with
// their places. How the memory is laid out is not a part of it, other than in an image.
// (So with ManualGrowth it does not say when the relation runs out of room.)
func (k adapter) AppendState(dst []byte) []byte {
	o := k.options
	for _, v := range []int{int(o.OnParentDeath), int(o.OnChildDeath), o.Places, o.PlacesMax, o.Refusals, o.StepsMax, len(k.refused)} {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
	}
	for _, f := range k.refused {
		dst = append(dst, f.Change+"\n"+f.Err.Error()+"\n"...)
		dst = appendWords(dst, []word{f.Entity, f.Other, word(len(f.Path)) | word(f.Omitted)<<32})
		dst = appendWords(dst, f.Path)
	}
	return k.tree.appendState(dst)
}

// appendState appends the lists in the order of their owners' handles: owner, flags of
// the list, its length, and the children with the holes. It leaves out lists that exist
// only to keep their capacity.
func (t *Tree) appendState(dst []byte) []byte {
	t.Settle()
	for first, p := range t.dir.each {
		for i, w := range p {
			n := node(w)
			if !n.hasList() {
				continue
			}
			l := t.list(t.number(n))
			if kept := l[listState] & (added | fixed); kept != 0 || l.places() > 0 {
				dst = appendWords(dst, []word{handleAt(first, i, n), kept, word(l.places())})
				dst = appendWords(dst, t.items(t.number(n)))
			}
		}
	}
	return dst
}

// Measure reports how many children there are.
func (k adapter) Measure(add func(drive.Measured)) {
	add(drive.Measured{Name: "atoll_relation_children", Help: "Children in a relation.", Of: k.name, Value: float64(k.tree.Links())})
	add(drive.Measured{Name: "atoll_relation_bytes", Help: "Memory of a relation.", Of: k.name, Value: float64(k.tree.Bytes())})
}
