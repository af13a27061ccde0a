package shard

import (
	"sync"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
)

// Outside is the home of the entities that ports create. It has slots but no
// atoms: those are in the shards. Its number is the number of shards, so its
// indexes are apart from theirs and what ports draw, and when, never shows in
// the handles that systems are given.
//
// Fresh indexes come from a counter, wait-free, from any goroutine. Used ones are
// given to ports in private ranges at the refresh, to each as many as it uses; a
// few more are kept ready for ports that have none, so that short-lived ones do
// not use up fresh indexes.
//
// Ownership: ready and fresh belong to everyone, the rest to the refresh.
type Outside struct {
	Home
	ready struct { // used handles for ports that have none of their own
		sync.Mutex
		handles []handle.Handle
	}
	fresh atomic.Uint32 // how many were ever drawn; may run past the limit
}

// NewOutside makes the home with the given number.
func NewOutside(space *Space, id int) *Outside {
	return &Outside{Home: newHome(space, id)}
}

// readyMax is how many used handles are kept ready.
const readyMax = 1024

// Take appends n pending handles to dst, or fewer if there are not as many: used
// ones that are ready, or else fresh ones. Safe from any goroutine.
func (o *Outside) Take(dst []handle.Handle, n int) ([]handle.Handle, error) {
	o.ready.Lock()
	rest := max(len(o.ready.handles)-n, 0)
	for _, h := range o.ready.handles[rest:] {
		o.space.slot(h).store(word(h, StatePending)) // the taker is its writer now
		dst = append(dst, h)
	}
	o.ready.handles = o.ready.handles[:rest]
	o.ready.Unlock()
	if len(dst) > 0 {
		return dst, nil
	}
	first, got, err := o.Draw(n)
	for k := got - 1; k >= 0; k-- { // the port takes the last first
		dst = append(dst, compose(o.id, first.Index()+uint32(k), 1))
	}
	return dst, err
}

// Restock makes used handles ready. Refresh only.
func (o *Outside) Restock() {
	if len(o.free) == 0 {
		return
	}
	o.ready.Lock()
	defer o.ready.Unlock()
	for len(o.ready.handles) < readyMax {
		h, ok := o.pop()
		if !ok {
			return
		}
		o.ready.handles = append(o.ready.handles, h)
	}
}

// Draw takes n fresh indexes, n a power of two of at most a page, and makes
// their slots pending: those of the returned handle and its successors by index,
// all with version 1. It may return fewer. Safe from any goroutine.
func (o *Outside) Draw(n int) (first handle.Handle, got int, err error) {
	limit := o.space.indexMax
	if o.fresh.Load() > limit {
		return 0, 0, o.space.errIndexes(int(o.id), 0)
	}
	i := o.fresh.Add(uint32(n)) - uint32(n)
	if i > limit {
		return 0, 0, o.space.errIndexes(int(o.id), 0)
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
	h, ok := o.pop()
	if ok {
		o.space.slot(h).store(word(h, StatePending))
	}
	return h, ok
}

// pop takes the next used index out of the free list.
func (o *Outside) pop() (handle.Handle, bool) {
	n := len(o.free) - 1
	if n < 0 {
		return 0, false
	}
	h := compose(o.id, o.free[n], 0)
	o.free = o.free[:n]
	return h | handle.Handle(o.space.slot(h).load()&versionMask), true
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
