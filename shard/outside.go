package shard

import (
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
)

// Outside is the home of the entities that ports create. It has slots but no
// atoms: those are in the shards. Its number is the number of shards, so its
// indexes are apart from theirs and what ports draw, and when, never shows in
// the handles that systems are given.
//
// Fresh indexes come from a counter, wait-free, from any goroutine; used ones
// are given to ports in private ranges at the refresh.
//
// Ownership: next belongs to everyone, the rest to the refresh.
type Outside struct {
	Home
	fresh atomic.Uint32 // how many were ever drawn; may run past the limit
}

// NewOutside makes the home with the given number.
func NewOutside(space *Space, id int) *Outside {
	return &Outside{Home: newHome(space, id)}
}

// Draw takes n fresh indexes, n a power of two of at most a page, and makes
// their slots pending: those of the returned handle and its successors by index,
// all with version 1. It may return fewer. Safe from any goroutine.
func (o *Outside) Draw(n int) (first handle.Handle, got int, err error) {
	limit := o.space.indexMax
	if o.fresh.Load() > limit {
		return 0, 0, o.space.errIndexes(int(o.id))
	}
	i := o.fresh.Add(uint32(n)) - uint32(n)
	if i > limit {
		return 0, 0, o.space.errIndexes(int(o.id))
	}
	got = int(min(uint32(n), limit-i+1))
	first = compose(o.id, o.space.index(o.id, i), 1)
	for k := range got {
		h := compose(o.id, o.space.index(o.id, i+uint32(k)), 1)
		slot := o.space.slot(h)
		for slot == nil {
			if _, err := o.space.grow(int(o.id), int(i>>pageBits)); err != nil {
				return 0, 0, err
			}
			slot = o.space.slot(h)
		}
		slot.store(word(h, StatePending))
	}
	return first, got, nil
}

// Give takes a used index out of the free list and makes its slot pending. It
// returns false if there is none. Refresh only.
func (o *Outside) Give() (handle.Handle, bool) {
	n := len(o.free)
	if n == 0 {
		return 0, false
	}
	i := o.free[n-1]
	o.free = o.free[:n-1]
	slot := o.space.slot(compose(o.id, i, 0))
	h := compose(o.id, i, slot.load()&versionMask)
	slot.store(word(h, StatePending))
	return h, true
}

// Recycle takes back the slots of the dead. Refresh only.
func (o *Outside) Recycle(dead []handle.Handle) {
	for _, h := range dead {
		if h.Shard() == o.id {
			o.recycle(h)
		}
	}
}

// Return takes back a pending handle that nobody was told of, with its version.
// Refresh only.
func (o *Outside) Return(h handle.Handle) {
	o.space.slot(h).store(word(h, StateUnused))
	o.free = append(o.free, h.Index())
}
