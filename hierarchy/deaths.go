package hierarchy

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/drive"
)

// adapter is a relation as the world sees it, so that the methods are not among
// those of Relation.
type adapter struct{ *Relation }

// Begin closes the gaps that the idle world has left, so that systems only read.
func (k adapter) Begin() { k.tree.Settle() }

// Settle closes the gaps that the refresh has left.
func (k adapter) Settle() {
	k.forget()
	k.stale = true
	k.tree.Settle()
}

// Spare spares entities that have living children, if that is the policy, and their
// ancestors among the dying: these have a living child then.
func (k adapter) Spare(d *drive.DyingSet) bool {
	if k.options.OnParentDeath != Refuse {
		return false
	}
	k.forget()
	spared := false
	for _, h := range d.All() {
		if !d.Has(h) || !k.hasLiving(d, h) {
			continue
		}
		for up := h; up != handle.None && d.Has(up); up = k.tree.parent(up) {
			d.Spare(up)
			k.refuse(Refusal{Change: "Destroy", Entity: up, Err: ErrChildren})
			spared = true
		}
	}
	return spared
}

// hasLiving reports whether h has a child that is not dying.
func (k adapter) hasLiving(d *drive.DyingSet, h handle.Handle) bool {
	return slices.ContainsFunc(k.tree.items(k.tree.own(h)), func(child handle.Handle) bool {
		return child != handle.None && !d.Has(child)
	})
}

// Spread takes the dying out of the relation and does to their children what the
// policy says. Children that it marks are taken out with their parent; those of
// them that are parents wait in k.dying.
func (k adapter) Spread(d *drive.DyingSet, from int) {
	if k.options.OnParentDeath == Grandparent {
		k.findGrandparents(d, from)
	}
	to := len(d.All())
	for i := from; i < to; i++ {
		k.dying = append(k.dying, d.All()[i])
		for n := len(k.dying); n > 0; n = len(k.dying) {
			h := k.dying[n-1]
			k.dying = k.dying[:n-1]
			k.remove(d, h)
		}
	}
	k.adoptMoved()
}

// move is a child that another parent gets.
type move struct{ child, to handle.Handle }

// adoptMoved gives the children in r.moved to their new parents.
func (r *Relation) adoptMoved() {
	for _, m := range r.moved {
		// A fixed list may be full, or memory short: it is an orphan then.
		_ = r.tree.change(m.child, &change{op: opAddChild, to: m.to})
	}
	r.moved = r.moved[:0]
}

// findGrandparents notes who gets the living children of the dying, while all links
// are there to be followed: the nearest ancestor that lives.
func (k adapter) findGrandparents(d *drive.DyingSet, from int) {
	for _, h := range d.All()[from:] {
		up := handle.None
		for _, child := range k.tree.items(k.tree.own(h)) {
			if child == handle.None || d.Has(child) {
				continue
			}
			if up == handle.None {
				for up = k.tree.parent(h); up != handle.None && d.Has(up); {
					up = k.tree.parent(up)
				}
				if up == handle.None {
					break
				}
			}
			k.moved = append(k.moved, move{child, up})
		}
	}
}

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
		k.destroyChildren(d, number)
	} else {
		t.unlinkChildren(number)
	}
	t.dropList(number)
}

// destroyChildren marks the children of a list and takes them out of it.
func (k adapter) destroyChildren(d *drive.DyingSet, number uint32) {
	t := k.tree
	children := t.items(number)
	d.Mark(children)
	for _, child := range children {
		if child == handle.None {
			continue
		}
		at := t.dir.place(child)
		if n := node(*at); !n.hasList() {
			*at = 0
			continue
		}
		t.unlink(child)
		k.dying = append(k.dying, child)
	}
	t.emptied(number)
}

// unlinkChildren makes the children of a list nobody's.
func (t *Tree) unlinkChildren(number uint32) {
	for _, child := range t.items(number) {
		if child != handle.None {
			t.unlink(child)
		}
	}
	t.emptied(number)
}

// emptied makes a list one without children, when they have been unlinked.
func (t *Tree) emptied(number uint32) {
	l := t.list(number)
	t.links -= l.children()
	l.setPlaces(0)
	l[listState] &= childOne - 1
	l.unset(holes | fixed)
	l.unsetOpen()
}
