package engine

import (
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/store"
)

// Get returns a component of an entity for reading, or nil.
func (c *Component) Get(t *Tx, h handle.Handle) mem.Address {
	t.must("Component.Get")
	c.check(t, "Component.Get")
	e := t.find(h)
	if e == nil {
		return c.column.At(t.w.lookup.Locate(h))
	}
	if !e.set.Has(c.id) {
		return nil
	}
	if at := t.written(e, c.id); at != nil {
		return at
	}
	return c.column.At(e.loc)
}

// Edit returns a component of an entity for writing, or nil.
func (c *Component) Edit(t *Tx, h handle.Handle) mem.Address {
	t.must("Component.Edit")
	c.check(t, "Component.Edit")
	e, err := t.touch(h)
	if err != nil || !e.set.Has(c.id) {
		return nil
	}
	if at := t.written(e, c.id); at != nil {
		return at
	}
	at, err := t.first(e, c.id)
	if err != nil {
		return nil
	}
	c.copyOut(t, at, c.column.At(e.loc))
	return at
}

// copyOut copies a value, by the function of CloneBy if there is one. If that panics, the transaction
// fails, even if it recovers the panic: the copy is not whole.
func (c *Component) copyOut(t *Tx, to, from mem.Address) {
	if !t.w.space.Cloned(c.id) {
		c.column.CopyOut(to, from)
		return
	}
	done := false
	defer func() {
		if !done {
			t.Fail(ErrFailed)
		}
	}()
	c.column.CopyOut(to, from)
	done = true
}

// setIn returns where a transaction stores a component that an entity has.
func (c *Component) setIn(t *Tx, h handle.Handle) (Sending, error) {
	if err := t.mayWrite("Component.Set"); err != nil {
		return Sending{}, err
	}
	e, err := t.touch(h)
	switch {
	case err != nil:
		return Sending{}, err
	case !e.set.Has(c.id):
		return Sending{}, ErrMissing
	}
	at, err := t.value(e, c.id)
	return Sending{To: mem.Pointer{Address: at}}, err
}

// addIn returns where a transaction stores a component that an entity gets.
func (c *Component) addIn(t *Tx, h handle.Handle) (Sending, error) {
	if err := t.mayWrite("Component.Add"); err != nil {
		return Sending{}, err
	}
	e, err := t.touch(h)
	if err == nil && !e.set.Has(c.id) {
		err = t.restructure(e)
	}
	if err != nil {
		return Sending{}, err
	}
	at, err := t.value(e, c.id)
	if err == nil {
		e.set.Add(c.id)
	}
	return Sending{To: mem.Pointer{Address: at}}, err
}

// removeIn takes the component from an entity.
func (c *Component) removeIn(t *Tx, h handle.Handle) error {
	if err := t.mayWrite("Component.Remove"); err != nil {
		return err
	}
	e, err := t.touch(h)
	if err == nil && !e.set.Has(c.id) {
		err = ErrMissing
	}
	if err == nil {
		err = t.restructure(e)
	}
	if err == nil {
		e.set.Remove(c.id)
	}
	return err
}

// new returns an entity that the transaction creates, without components, in a shard or, if that has
// no index left and another may take its turn, in the next that has one.
func (t *Tx) new(shard int, inTurn bool) (*taken, error) {
	if err := t.w.space.CheckChunks(t.changes + 1); err != nil {
		return nil, err
	}
	h, err := t.w.shards[shard].Nth(t.creates[shard])
	for k := 1; inTurn && errors.Is(err, ErrIndexes) && k < len(t.w.shards); k++ {
		at := (shard + k) % len(t.w.shards)
		if h, err = t.w.shards[at].Nth(t.creates[at]); err == nil {
			t.w.cursor, shard = at, at
		}
	}
	if err != nil {
		return nil, err
	}
	e, err := t.take(taken{handle: h, owner: int32(shard), first: -1, last: -1, to: -1, restructured: true})
	if err == nil {
		t.creates[shard]++
		t.changes++
	}
	return e, err
}

// createIn creates an entity from what its caller has stored in the part.
func (b *Bundle) createIn(t *Tx, p *BundlePart, how CreatingHow) (handle.Handle, error) {
	defer p.forget()
	e, err := t.new(p.shard.ID(), how&inTurn != 0)
	if err != nil {
		t.w.giveBack()
		return handle.None, err
	}
	return e.handle, b.putIn(t, e, p.Scratch)
}

// putIn gives an entity the fields of a bundle.
func (b *Bundle) putIn(t *Tx, e *taken, v mem.Pointer) error {
	for i := range b.fields {
		f := &b.fields[i]
		at, err := t.value(e, f.Component)
		if err != nil {
			return err // the transaction fails
		}
		t.w.space.TypeOf(f.Component).Copy(at, v.At(1, f.Offset).Address, 1)
		e.set.Add(f.Component)
	}
	return nil
}

// In returns the transaction that an actor is, and where its caller stores a bundle for SetIn or
// AddIn; or nil. It panics for a Tx that may not store there: of another world, or too late.
func (b *Bundle) In(by Self, call string) (*Tx, mem.Pointer) {
	t, ok := by.(*Tx)
	if !ok {
		return nil, mem.Pointer{}
	}
	b.check(t, call)
	if t.depth == 0 {
		t.panicLate(call)
	}
	return t, b.part(b.w.shards[0]).Scratch
}

// SetIn sets an entity to what its caller has stored where In said.
func (b *Bundle) SetIn(t *Tx, h handle.Handle) error {
	p := b.part(b.w.shards[0])
	defer p.forget()
	if err := t.mayWrite("Bundle.Set"); err != nil {
		return err
	}
	e, err := t.touch(h)
	switch {
	case err != nil:
		return err
	case !e.set.Contains(&b.set):
		return ErrMissing
	}
	return b.putIn(t, e, p.Scratch)
}

// AddIn gives an entity what its caller has stored where In said, and takes components away.
func (b *Bundle) AddIn(t *Tx, h handle.Handle, remove *store.Set) error {
	p := b.part(b.w.shards[0])
	defer p.forget()
	if err := t.mayWrite("Bundle.Add"); err != nil {
		return err
	}
	e, err := t.touch(h)
	if err == nil {
		err = t.restructure(e)
	}
	if err != nil {
		return err
	}
	e.set = e.set.Minus(*remove)
	return b.putIn(t, e, p.Scratch)
}

// copyIn is Copy by a transaction.
func (t *Tx) copyIn(h handle.Handle) (handle.Handle, error) {
	if err := t.mayWrite("world.Copy"); err != nil {
		return handle.None, err
	}
	from, err := t.touch(h)
	if err != nil {
		return handle.None, err
	}
	for id := range from.set.All {
		if err := t.w.Shared(id, t.w.cores[id].Get(t, h), nil); err != nil {
			return handle.None, fmt.Errorf("world: Copy of %v: %w", h, err)
		}
	}
	set, shard := from.set, int(from.owner)
	e, err := t.new(shard, false)
	if err != nil {
		return handle.None, err
	}
	made := e.handle
	for id := range set.All {
		to, err := t.value(t.find(made), id) // again: a CloneBy may have used the transaction
		if err != nil {
			return handle.None, err
		}
		c := t.w.cores[id]
		from := c.Get(t, h)
		if from == nil {
			err := fmt.Errorf("world: Copy of %v: a CloneBy has taken away component %q, which is to be copied: %w", h, c.Name(), ErrFailed)
			t.Fail(err)
			return handle.None, err
		}
		c.copyOut(t, to, from)
		if of := t.w.space.TypeOf(id); of.HasSingles() {
			of.ClearSingles(to, 1)
		}
	}
	t.find(made).set = set
	return made, nil
}

// moveIn is Move by a transaction.
func (t *Tx) moveIn(h handle.Handle, to int) error {
	if err := t.mayWrite("world.Move"); err != nil {
		return err
	}
	e, err := t.touch(h)
	if err == nil {
		e.to = int32(to)
	}
	return err
}

// flagIn sets and clears flags.
func (t *Tx) flagIn(call string, h handle.Handle, f flagging) error {
	if err := t.mayWrite(call); err != nil {
		return err
	}
	e, err := t.touch(h)
	if err == nil {
		e.flags, e.cleared = e.flags&^f.cleared|f.set, e.cleared&^f.set|f.cleared
	}
	return err
}

// flagsIn returns the flags of an entity.
func (t *Tx) flagsIn(h handle.Handle) Flags {
	t.must("world.FlagsOf")
	f := Flags(0)
	if l := t.w.space.Locate(h); l != 0 {
		f = t.w.space.FlagsAt(l)
	}
	if e := t.find(h); e != nil {
		f = f&^e.cleared | e.flags
	}
	return f
}
