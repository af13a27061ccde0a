package names

import (
	"hash/maphash"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
)

// What a transaction binds and unbinds is kept aside until it is done: any goroutine may look a name
// up meanwhile.

// draft is the name that an entity gets by the transaction under way, or that it gets none.
type draft[K Name] struct {
	handle handle.Handle
	name   K
	bind   bool
	made   *binding[K] // by Commit
}

// drafts is Names as a transaction sees it.
type drafts[K Name] struct{ *Names[K] }

// doIn makes a change by a transaction.
func (n *Names[K]) doIn(t *engine.Tx, h handle.Handle, c change[K]) error {
	call := "Names.Unbind"
	if c.bind {
		call = "Names.Bind"
	}
	if err := t.Write(call, drafts[K]{n}); err != nil {
		return err
	}
	if err := t.Touch(h); err != nil {
		return err
	}
	if !c.bind {
		if _, ok := n.nameIn(h); !ok {
			return ErrUnnamed
		}
	} else if holder, ok := n.lookupIn(t, c.name); ok && holder != h {
		return ErrTaken
	}
	if err := t.Charge(uintptr(bindingBytes + length(&c.name))); err != nil {
		return err
	}
	if d := n.draftOf(h); d != nil {
		d.name, d.bind = c.name, c.bind
		return nil
	}
	n.drafts = append(n.drafts, draft[K]{handle: h, name: c.name, bind: c.bind})
	return nil
}

// bindingBytes is about what a binding takes, besides the name.
const bindingBytes = 64

// draftOf returns what the transaction does with the name of an entity, or nil.
func (n *Names[K]) draftOf(h handle.Handle) *draft[K] {
	for i := range n.drafts {
		if n.drafts[i].handle == h {
			return &n.drafts[i]
		}
	}
	return nil
}

// nameIn returns the name of an entity, as the transaction under way leaves it.
func (n *Names[K]) nameIn(h handle.Handle) (name K, ok bool) {
	if d := n.draftOf(h); d != nil {
		return d.name, d.bind
	}
	return n.NameOf(h)
}

// lookupIn returns the entity that has a name, as a transaction leaves it. One that dies has none.
func (n *Names[K]) lookupIn(t *engine.Tx, name K) (handle.Handle, bool) {
	for i := range n.drafts {
		if d := &n.drafts[i]; d.bind && d.name == name && t.Living(d.handle) {
			return d.handle, true
		}
	}
	b := n.byName.named(maphash.Comparable(n.seed, name), name)
	if b == nil || n.draftOf(b.handle) != nil || !t.Living(b.handle) {
		return handle.None, false
	}
	return b.handle, true
}

// Commit makes the changes of the transaction. First the new names come, some in place of old ones,
// and then what is left of the old ones goes. So a reader always finds an entity by a name that has
// one before and after.
func (d drafts[K]) Commit() {
	n := d.Names
	for i := range n.drafts {
		if x := &n.drafts[i]; x.bind {
			n.bring(x)
		}
	}
	for i := range n.drafts {
		n.settleDraft(&n.drafts[i])
	}
	d.Drop()
}

// bring makes a name stand for the entity of a draft. Of two drafts with the same name one is for an
// entity that dies, which loses it.
func (n *Names[K]) bring(x *draft[K]) {
	hash := maphash.Comparable(n.seed, x.name)
	other := n.byName.named(hash, x.name)
	if other != nil && other.handle == x.handle {
		x.made = other
		return
	}
	x.made = &binding[K]{hash: hash, name: x.name, handle: x.handle}
	if other == nil {
		n.byName.put(x.made)
		return
	}
	switch of := n.draftOf(other.handle); {
	case of == nil: // it dies
		n.byHandle.remove(other)
		n.count.Add(-1)
	case of.made == other && n.engine.IsDying(x.handle):
		return
	}
	n.byName.replace(other, x.made)
}

// settleDraft gives the entity of a draft its new name, if that was brought and not lost again, and
// takes the old one.
func (n *Names[K]) settleDraft(x *draft[K]) {
	had := n.byHandle.of(x.handle)
	gets := x.bind && n.byName.named(x.made.hash, x.name) == x.made
	switch {
	case gets && had == x.made:
		return
	case gets && had != nil:
		n.byHandle.replace(had, x.made)
	case gets:
		n.byHandle.put(x.made)
		n.count.Add(1)
	case had != nil:
		n.byHandle.remove(had)
		n.count.Add(-1)
	}
	if had != nil && n.byName.named(had.hash, had.name) == had {
		n.byName.remove(had)
	}
}

// Drop forgets them.
func (d drafts[K]) Drop() {
	clear(d.drafts)
	d.Names.drafts = d.drafts[:0]
}
