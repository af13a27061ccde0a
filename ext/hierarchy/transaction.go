package hierarchy

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
)

// A transaction changes a relation at once: nobody else reads it in that time. If the transaction
// fails, the lists that it has changed get back what they had.

// undo has the lists that the transaction under way has changed, as they were. It is a relation's
// part of the transaction.
//
// Ownership: as for the tree.
type undo struct {
	r     *Relation
	lists []keptList
	kept  map[handle.Handle]bool // the owners of lists, once there are more than a few
	items []handle.Handle        // of lists, one after the other
	keep  bool                   // what the tree's was
	open  bool                   // the transaction counts the tree's steps
}

// keptList is a list as it was.
type keptList struct {
	owner    handle.Handle
	had      bool
	flags    word // fixed and added
	from, to int  // in items
}

// keptBytes is about what a kept list takes, besides its places.
const keptBytes = 48

// doIn makes a change by a transaction.
func (r *Relation) doIn(t *engine.Tx, h handle.Handle, c *change) error {
	if err := r.begin(t, c.op.String()); err != nil {
		return err
	}
	if err := t.Touch(h); err != nil {
		return err
	}
	if c.to != handle.None {
		if err := t.Touch(c.to); err != nil {
			return err
		}
	}
	for _, owner := range r.concerns(h, c) {
		if err := r.undo.add(t, owner); err != nil {
			return err
		}
	}
	if err := r.undo.work(t); err != nil {
		return err
	}
	if t.Idle() {
		return r.tree.named(r.change(h, c))
	}
	return r.tree.named(r.changeFor(r.engine.Sender(), h, c))
}

// sortSteps is for each child that is sorted.
const sortSteps = 64

// begin makes the relation a part of a transaction.
func (r *Relation) begin(t *engine.Tx, call string) error {
	r.mustNotCompare(call)
	err := t.Write("Relation."+call, &r.undo)
	if err == nil && !r.undo.open {
		r.undo.open, r.tree.steps = true, 0
	}
	return err
}

// work counts the steps since the last time, also the steps of changes and reads, as work of the
// transaction.
func (u *undo) work(t *engine.Tx) error {
	steps := u.r.tree.steps
	u.r.tree.steps = 0
	return t.Work(steps)
}

// concerns returns the owners of the lists that a change may change.
func (r *Relation) concerns(h handle.Handle, c *change) [2]handle.Handle {
	t := r.tree
	switch c.op {
	case opAdd, opRemoveHoles, opSetPlaces:
		return [2]handle.Handle{h}
	case opRemove:
		return [2]handle.Handle{h, t.parent(h)}
	case opMoveBefore, opSwap:
		return [2]handle.Handle{t.parent(h), t.parent(c.to)}
	}
	return [2]handle.Handle{t.parent(h), c.to}
}

// addAll is AddChildren by a transaction.
func (r *Relation) addAll(t *engine.Tx, parent handle.Handle, children []handle.Handle) error {
	for i, child := range children {
		if err := r.doIn(t, child, &change{op: opAddChild, to: parent}); err != nil {
			err = fmt.Errorf("%w (child %d of %d)", err, i+1, len(children))
			t.Fail(err)
			return err
		}
	}
	return nil
}

// sortIn is Sort by a transaction.
func (r *Relation) sortIn(t *engine.Tx, parent handle.Handle, compare func(a, b handle.Handle) int) error {
	if err := r.begin(t, "Sort"); err != nil {
		return err
	}
	if err := t.Touch(parent); err != nil {
		return err
	}
	if err := r.undo.add(t, parent); err != nil {
		return err
	}
	r.tree.steps += len(r.tree.children(parent)) * sortSteps
	if err := r.undo.work(t); err != nil {
		return err
	}
	outer := r.comparing
	r.comparing = true
	defer func() { r.comparing = outer }()
	return r.tree.Sort(parent, compare)
}

// add keeps the list of an entity, as it is.
func (u *undo) add(x *engine.Tx, owner handle.Handle) error {
	if owner == handle.None {
		return nil
	}
	if u.has(owner) {
		return nil
	}
	t, k, bytes := u.r.tree, keptList{owner: owner, from: len(u.items)}, uintptr(keptBytes)
	number := t.own(owner)
	if number != 0 {
		bytes += uintptr(t.settled(number).places()) * wordBytes
	}
	if err := x.Charge(bytes); err != nil {
		return err
	}
	if number != 0 {
		l := t.settled(number)
		k.had, k.flags = true, l[listState]&(fixed|added)
		u.items = append(u.items, t.items(number)...)
	}
	if len(u.lists) == 0 {
		u.keep = t.keep
		t.keep = t.keep || t.manual // so that there is room to undo
	}
	k.to = len(u.items)
	u.lists = append(u.lists, k)
	switch n := len(u.lists); {
	case n <= fewLists:
		return nil
	case u.kept == nil:
		u.kept = map[handle.Handle]bool{}
	}
	for i := len(u.kept); i < len(u.lists); i++ {
		u.kept[u.lists[i].owner] = true
	}
	return nil
}

// fewLists is the number of lists up to which one is found by looking at all.
const fewLists = 8

// has reports whether the list of an entity is kept.
func (u *undo) has(owner handle.Handle) bool {
	if len(u.lists) > fewLists {
		return u.kept[owner]
	}
	for i := range u.lists {
		if u.lists[i].owner == owner {
			return true
		}
	}
	return false
}

// Commit forgets the lists as they were.
func (u *undo) Commit() {
	t := u.r.tree
	if len(u.lists) > 0 {
		t.keep = u.keep
	}
	for _, k := range u.lists {
		if number := t.own(k.owner); number != 0 {
			t.trimList(number)
		}
	}
	if len(u.lists) > fewLists {
		clear(u.kept)
	}
	u.lists, u.items, u.open = u.lists[:0], u.items[:0], false
}

// Drop gives the lists back what they had: first none has children, and those that are new go, then
// all have theirs. A list that the transaction dropped may have to grow anew, so it may.
func (u *undo) Drop() {
	t := u.r.tree
	manual := t.manual
	t.manual = false
	for _, k := range u.lists {
		number := t.own(k.owner)
		if number == 0 {
			continue
		}
		t.settled(number)
		t.unlinkChildren(number, nil)
		if t.list(number).unset(added); !k.had {
			t.dropList(number)
		}
	}
	for _, k := range u.lists {
		if k.had {
			t.restore(k.owner, k.flags, u.items[k.from:k.to])
		}
	}
	t.manual = manual
	u.Commit()
}

// restore gives an entity a list. It has no children, and those of items have no parent.
func (t *tree) restore(owner handle.Handle, flags word, items []handle.Handle) {
	number, err := t.listOf(owner)
	if err == nil {
		err = t.makeRoom(number, len(items))
	}
	if err != nil {
		panic(fmt.Sprintf("hierarchy: there is less room for the children of %v than they had: %v", owner, err))
	}
	l, children := t.list(number), 0
	copy(t.bucket(l.start(), len(items)), items)
	for p, child := range items {
		if child != handle.None {
			t.link(child, number, p)
			children++
		}
	}
	l = t.list(number)
	l.setPlaces(len(items))
	l[listState] += word(children) * childOne
	l.set(flags)
	t.links += children
	t.touchPlaces(number, 0, len(items))
}
