package shard

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
)

// This file is what a log of inputs notes of the outside home, and how another world
// is dealt the same: which handles ports have depends on when and how many they
// draw, so it is an input.

// Dealing is a used handle that was given to a port, or came back from one that did
// not use it and told nobody.
type Dealing struct {
	Handle handle.Handle
	Back   bool
}

// note notes a dealing. The lock is held.
func (o *Outside) note(h handle.Handle, back bool) {
	if o.open.noting {
		o.open.dealt = append(o.open.dealt, Dealing{h, back})
	}
}

// noteAlone is note by a refresh, which does not hold the lock.
func (o *Outside) noteAlone(h handle.Handle, back bool) {
	if o.open.noting { // changes on an idle world alone
		o.open.Lock()
		defer o.open.Unlock()
		o.note(h, back)
	}
}

// Note begins to note dealings, or ends it. The first say which handles are with
// ports now. The world must be idle.
func (o *Outside) Note(on bool) {
	o.open.Lock()
	defer o.open.Unlock()
	o.open.noting, o.open.dealt, o.recalls = on, nil, nil
	if !on {
		return
	}
	for n := range o.drawn() {
		if h, state := o.drawnAs(n); state == StatePending || state == StateUnused {
			o.note(h, state == StateUnused)
		}
	}
}

// drawnAs returns the n-th handle that was drawn, as it is now. One that is being
// drawn is alive here, so that nobody takes it for one in hand.
func (o *Outside) drawnAs(n uint32) (handle.Handle, State) {
	h := compose(o.id, n, 0)
	slot := o.space.slot(h)
	if slot == nil {
		return h, StateAlive
	}
	version, state := unpack(slot.load(), h)
	if version == 0 {
		return h, StateAlive
	}
	return h | handle.Handle(version), state
}

// TakeDealings appends to dst what was dealt since the last call, and returns how many
// fresh handles were drawn until now. Refresh only.
func (o *Outside) TakeDealings(dst []Dealing) (dealt []Dealing, drawn uint32) {
	o.open.Lock()
	defer o.open.Unlock()
	dst = append(dst, o.open.dealt...)
	o.open.dealt = o.open.dealt[:0]
	return dst, o.drawn() // after that: what was dealt was drawn before
}

// TakeRecalls appends to dst the handles that the last Restock took back. Refresh
// only.
func (o *Outside) TakeRecalls(dst []handle.Handle) []handle.Handle {
	dst = append(dst, o.recalls...)
	o.recalls = o.recalls[:0]
	return dst
}

// drawn returns how many fresh handles were drawn.
func (o *Outside) drawn() uint32 {
	return uint32(min(uint64(o.fresh.Load()), uint64(o.space.indexMax)+1))
}

// Deal makes the home be as one of which that was noted. Nobody may draw until
// Reopen. It returns an error if that cannot follow what was dealt before.
func (o *Outside) Deal(drawn uint32, dealt []Dealing) error {
	before := o.drawn()
	if drawn < before || uint64(drawn) > uint64(o.space.indexMax)+1 {
		return fmt.Errorf("shard: %d handles were drawn, of %d at most; now it would be %d", before, uint64(o.space.indexMax)+1, drawn)
	}
	o.fresh.Store(drawn)
	for n := before; n < drawn; n++ {
		h := compose(o.id, n, 1)
		slot := o.space.slot(h)
		for slot == nil {
			if err := o.space.grow(o.id, int(n>>pageBits)); err != nil {
				return err
			}
			slot = o.space.slot(h)
		}
		slot.store(word(h, StatePending))
	}
	for _, d := range dealt {
		state := StatePending
		if d.Back {
			state = StateUnused
		}
		if now := o.stateOf(d.Handle); now != StatePending && now != StateUnused {
			return fmt.Errorf("shard: handle %v is not one that a port could be given", d.Handle)
		}
		o.space.slot(d.Handle).store(word(d.Handle, state))
	}
	o.free = o.free[:0] // Reopen makes it anew
	return nil
}

// stateOf returns the state of the slot that h names, or StateRetired if h is no
// handle of this home with the slot's present version.
func (o *Outside) stateOf(h handle.Handle) State {
	slot := o.space.slot(h)
	if slot == nil || uint32(h.Shard()) != o.id {
		return StateRetired
	}
	version, state := unpack(slot.load(), h)
	if version == 0 || version != h.Version() {
		return StateRetired
	}
	return state
}

// InHand reports whether h is a handle that a port has been given and that is not
// stored.
func (o *Outside) InHand(h handle.Handle) bool { return o.stateOf(h) == StatePending }

// Reopen lets ports draw again. What they had in hand, by what was dealt, goes back,
// and is stale: somebody may have been told.
func (o *Outside) Reopen() {
	o.open.Lock()
	defer o.open.Unlock()
	o.stock, o.open.ready, o.free = nil, nil, o.free[:0]
	for n := o.drawn(); n > 0; n-- {
		switch h, state := o.drawnAs(n - 1); state {
		case StatePending:
			o.recycle(h)
		case StateUnused:
			o.free = append(o.free, h.Index())
		}
	}
	o.makeReady()
}
