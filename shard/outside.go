package shard

import (
	"slices"
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
//	dead ──▶ free ──▶ stock ──▶ a port's range ──▶ an entity
//	           └────▶ ready ──▶┘
//	                  fresh ──▶┘
//
// Ownership: what nests with the lock, and fresh, belong to everyone, the rest to
// the refresh.
type Outside struct {
	Home
	stock   []handle.Handle // pending, for ports; nobody was told of them
	want    int             // how many the stock should have
	due     int             // how many of the recalled are to be freed
	recalls []handle.Handle // that Restock took back, while that is noted
	open    struct {
		sync.Mutex
		ready    []handle.Handle // unused, for ports that have none of their own
		recalled []handle.Handle // pending, and somebody was told: their versions are used up
		noting   bool            // dealings are noted
		dealt    []Dealing
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
// ones that are ready, and fresh ones. It returns an error if there is none. Safe
// from any goroutine.
func (o *Outside) Take(dst []handle.Handle, n int) ([]handle.Handle, error) {
	have := len(dst)
	o.open.Lock()
	rest := max(len(o.open.ready)-n, 0)
	for _, h := range o.open.ready[rest:] {
		o.space.slot(h).store(word(h, StatePending)) // the taker is its writer now
		o.note(h, false)
		dst = append(dst, h)
	}
	o.open.ready = o.open.ready[:rest]
	o.open.Unlock()
	if len(dst) > have {
		return dst, nil
	}
	first, got, err := o.Draw(n)
	for k := got - 1; k >= 0; k-- { // the port takes the last first
		dst = append(dst, compose(o.id, first.Index()+uint32(k), 1))
	}
	return dst, err
}

// Untake gives back what Take gave and nobody was told of. Safe from any
// goroutine.
func (o *Outside) Untake(hs []handle.Handle) {
	o.open.Lock()
	defer o.open.Unlock()
	for _, h := range hs {
		o.space.slot(h).store(word(h, StateUnused))
		o.note(h, true)
	}
	o.open.ready = append(o.open.ready, hs...)
}

// Recall takes back pending handles that somebody was told of, and that will not
// be stored: the next refresh moves their versions on. Safe from any goroutine
// that is the writer of their slots.
func (o *Outside) Recall(hs ...handle.Handle) {
	o.open.Lock()
	defer o.open.Unlock()
	o.open.recalled = append(o.open.recalled, hs...)
}

// Want says how many used handles ports are about to be given. Refresh only.
func (o *Outside) Want(n int) { o.want = n }

// untouched reports whether no handle was ever drawn, so that there is none to take
// back or to make ready: most worlds that are filled on a single goroutine. One that is
// drawn meanwhile waits for the next refresh.
func (o *Outside) untouched() bool { return o.fresh.Load() == 0 }

// Cut makes the next Restock free what was recalled until now. Refresh only.
func (o *Outside) Cut() {
	if !o.untouched() {
		o.cut()
	}
}

func (o *Outside) cut() {
	o.open.Lock()
	defer o.open.Unlock()
	o.due = len(o.open.recalled)
}

// Restock makes used handles ready, and frees those that were recalled before Cut.
// Refresh only.
func (o *Outside) Restock() {
	if !o.untouched() {
		o.restock()
	}
}

func (o *Outside) restock() {
	o.open.Lock()
	defer o.open.Unlock()
	due := o.open.recalled[:o.due]
	for _, h := range due {
		o.recycle(h)
	}
	if o.open.noting {
		o.recalls = append(o.recalls, due...)
	}
	o.open.recalled = slices.Delete(o.open.recalled, 0, o.due)
	o.due = 0
	o.makeReady()
}

// makeReady makes used handles ready. The lock is held.
func (o *Outside) makeReady() {
	for len(o.open.ready) < readyMax {
		h, ok := o.pop()
		if !ok {
			return
		}
		o.open.ready = append(o.open.ready, h)
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
	// After a restore a run may go over the end of a page: what is behind that is given to
	// nobody.
	got = int(min(uint32(n), limit-i+1, pageSize-i%pageSize))
	first = compose(o.id, i, 1)
	for k := range got {
		h := compose(o.id, i+uint32(k), 1)
		slot := o.space.slot(h)
		for slot == nil {
			if err := o.space.grow(o.id, int(i>>pageBits)); err != nil {
				return 0, 0, err
			}
			slot = o.space.slot(h)
		}
		slot.store(word(h, StatePending))
	}
	return first, got, nil
}

// Give appends n used handles to dst, all pending, or as many as there are.
// Refresh only.
func (o *Outside) Give(dst []handle.Handle, n int) []handle.Handle {
	dst = slices.Grow(dst, min(n, len(o.stock)+len(o.free)))
	rest := max(len(o.stock)-n, 0)
	n -= len(o.stock) - rest
	dst = append(dst, o.stock[rest:]...)
	o.stock = o.stock[:rest]
	for ; n > 0; n-- {
		h, ok := o.pop()
		if !ok {
			break
		}
		o.space.slot(h).store(word(h, StatePending))
		o.noteAlone(h, false)
		dst = append(dst, h)
	}
	return dst
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

// Recycle takes back the slots of the dead: for the stock as far as that wants
// any, so that their slots are written once. Refresh only.
func (o *Outside) Recycle(dead []handle.Handle) {
	for _, h := range dead {
		if len(o.stock) < o.want && h.Version() < o.space.versionMax {
			h++ // the version is the low field
			o.space.slot(h).store(word(h, StatePending))
			o.noteAlone(h, false)
			o.stock = append(o.stock, h)
		} else {
			o.recycle(h)
		}
	}
}

// Return takes back a pending handle that nobody was told of, with its version.
// Refresh only.
func (o *Outside) Return(h handle.Handle) {
	o.space.slot(h).store(word(h, StateUnused))
	o.noteAlone(h, true)
	o.free = append(o.free, h.Index())
}
