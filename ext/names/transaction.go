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
	} else {
		n.drafts = append(n.drafts, draft[K]{handle: h, name: c.name, bind: c.bind})
	}
	n.note(t, h)
	return nil
}

// fewDrafts is the number of drafts up to which one is found by looking at all.
const fewDrafts = 8

// found finds drafts by index, once there are more than a few.
type found[K Name] struct {
	byHandle map[handle.Handle]int
	byName   map[K]int // the last to bind a name: one before it is dead or has another
}

// note notes the change of a draft. Once there are more than a few, it notes them all.
func (n *Names[K]) note(t *engine.Tx, h handle.Handle) {
	f, from := &n.found, len(n.drafts)-1
	switch i, ok := f.byHandle[h]; {
	case from < fewDrafts:
		return
	case ok:
		n.noteAt(i)
		return
	case f.byHandle == nil:
		f.byHandle, f.byName = map[handle.Handle]int{}, map[K]int{}
	}
	if len(f.byHandle) == 0 {
		from = 0
	}
	for i := from; i < len(n.drafts); i++ {
		if d := &n.drafts[i]; t.Living(d.handle) {
			n.noteAt(i)
		} else {
			f.byHandle[d.handle] = i
		}
	}
}

func (n *Names[K]) noteAt(i int) {
	d := &n.drafts[i]
	if n.found.byHandle[d.handle] = i; d.bind {
		n.found.byName[d.name] = i
	}
}

// bindingBytes is about what a binding takes, besides the name.
const bindingBytes = 64

// draftOf returns what the transaction does with the name of an entity, or nil.
func (n *Names[K]) draftOf(h handle.Handle) *draft[K] {
	if len(n.drafts) > fewDrafts {
		if i, ok := n.found.byHandle[h]; ok {
			return &n.drafts[i]
		}
		return nil
	}
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
	all := n.drafts
	if len(all) > fewDrafts {
		i, ok := n.found.byName[name]
		if all = nil; ok {
			all = n.drafts[i : i+1]
		}
	}
	for i := range all {
		if d := &all[i]; d.bind && d.name == name && t.Living(d.handle) {
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
	if len(d.drafts) > fewDrafts {
		clear(d.found.byHandle)
		clear(d.found.byName)
	}
	clear(d.drafts)
	d.Names.drafts = d.drafts[:0]
}
