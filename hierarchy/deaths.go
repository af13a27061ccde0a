package hierarchy

import (
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

// Spare spares those that have living children, if that is the policy, and their
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
			k.refuseDeath(up)
			spared = true
		}
	}
	return spared
}

func (k adapter) refuseDeath(h handle.Handle) {
	if len(k.refused) < k.options.Refusals {
		k.refused = append(k.refused, Refusal{Change: "Destroy", Entity: h, Err: ErrChildren})
	}
}

// hasLiving reports whether h has a child that is not dying.
func (k adapter) hasLiving(d *drive.DyingSet, h handle.Handle) bool {
	n := k.tree.look(h)
	if !n.hasList() {
		return false
	}
	for _, child := range k.tree.items(k.tree.number(n)) {
		if child != handle.None && !d.Has(child) {
			return true
		}
	}
	return false
}

// Spread takes the dying out of the relation and does to their children what the
// policy says. Children that it marks are taken out with their parent; those of
// them that are parents wait in k.dying.
func (k adapter) Spread(d *drive.DyingSet, from int) {
	if k.options.OnParentDeath == Grandparent {
		k.bequeath(d, from)
	}
	to := len(d.All())
	for i := from; i < to; i++ {
		k.remove(d, d.All()[i])
		for n := len(k.dying); n > 0; n = len(k.dying) {
			h := k.dying[n-1]
			k.dying = k.dying[:n-1]
			k.remove(d, h)
		}
	}
	k.give()
}

// gift is a child that comes to the nearest ancestor who lives.
type gift struct{ child, to handle.Handle }

// give gives the children that wait for it to whom they are to have.
func (r *Relation) give() {
	for _, g := range r.gifts {
		// A fixed list may be full, or memory short: it is an orphan then.
		_ = r.tree.adopt(g.to, g.child, atEnd, 0)
	}
	r.gifts = r.gifts[:0]
}

// bequeath notes who gets the living children of the dying, while all links are
// there to be followed.
func (k adapter) bequeath(d *drive.DyingSet, from int) {
	for _, h := range d.All()[from:] {
		n := k.tree.look(h)
		if !n.hasList() {
			continue
		}
		up := handle.None
		for _, child := range k.tree.items(k.tree.number(n)) {
			if child == handle.None || d.Has(child) {
				continue
			}
			if up == handle.None {
				if up = k.heir(d, h); up == handle.None {
					break
				}
			}
			k.gifts = append(k.gifts, gift{child, up})
		}
	}
}

// heir returns the nearest ancestor who lives, or None.
func (k adapter) heir(d *drive.DyingSet, h handle.Handle) handle.Handle {
	up := k.tree.parent(h)
	for up != handle.None && d.Has(up) {
		up = k.tree.parent(up)
	}
	return up
}

// remove takes a dying entity out of the relation, and its children from it.
func (k adapter) remove(d *drive.DyingSet, h handle.Handle) {
	t := k.tree
	n := t.look(h)
	if n == 0 {
		return
	}
	t.detach(h, k.options.OnChildDeath)
	if n = t.look(h); !n.hasList() {
		return
	}
	if k.options.OnParentDeath == Destroy {
		k.destroyChildren(d, k.tree.number(n))
	} else {
		t.unlinkChildren(k.tree.number(n))
	}
	t.dropList(k.tree.number(n))
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
