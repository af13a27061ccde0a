package store

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

// Allocator hands out the slots of one shard and takes them back.
//
// Invariants: an index is in the free list, held by a live or pending handle,
// retired, or not given yet. A free index is handed out with a higher
// version than it ever had.
//
// Ownership: the shard's owner; see PortAllocator for the home that any goroutine may
// draw from.
type Allocator struct {
	space   *Space
	ref     *directoryRef
	id      uint32
	next    uint32 // the lowest index that was never given
	free    []uint32
	retired int
}

func newAllocator(space *Space, id int) Allocator {
	return Allocator{space: space, ref: space.ref(uint32(id)), id: uint32(id)}
}

// freshAtOnce is the least number of indexes that go to the free list at a time.
const freshAtOnce = 64

// take gives a handle. It does not write the slot. The free list must not be empty.
func (h *Allocator) take() handle.Handle {
	n := len(h.free) - 1
	i := h.free[n]
	h.free = h.free[:n]
	return compose(h.id, i, h.ref.slot(i).load()&versionMask)
}

// refill puts about want indexes that were never used into the empty free list,
// so that they are given in ascending order.
func (h *Allocator) refill(want int) error {
	if int(h.next>>pageBits) == h.pages() {
		if err := h.grow(); err != nil {
			return err
		}
	}
	n := min(int64(max(want, freshAtOnce)), int64(pageSize-h.next%pageSize), int64(h.space.indexMax)+1-int64(h.next))
	if n <= 0 {
		return h.space.errIndexes(int(h.id), h.retired)
	}
	h.fresh(int(n))
	return nil
}

// fresh puts the next n indexes, which lie in one page, into the free list.
func (h *Allocator) fresh(n int) {
	h.free = slices.Grow(h.free, n)
	for k := n - 1; k >= 0; k-- {
		i := h.next + uint32(k)
		h.ref.slot(i).storeBatched(word(compose(h.id, i, 1), StateUnused))
		h.free = append(h.free, i)
	}
	h.next += uint32(n)
}

func (h *Allocator) pages() int { return h.space.pages(h.id) }

func (h *Allocator) grow() error { return h.space.grow(h.id, h.pages()) }

// reserve makes room for n more handles.
func (h *Allocator) reserve(n int) error {
	for len(h.free)+h.pages()*pageSize-int(h.next) < n {
		if err := h.grow(); err != nil {
			return err
		}
	}
	return nil
}

// recycle takes back the slot of a dead atom's handle. The version grows, so every copy of
// the handle becomes stale.
func (h *Allocator) recycle(dead handle.Handle) {
	i := dead.Index()
	slot := h.ref.slot(i)
	if dead.Version() >= h.space.versionMax {
		slot.store(word(dead, StateRetired))
		h.retired++
		return
	}
	slot.store(word(dead+1, StateUnused)) // the version is the low field
	h.free = append(h.free, i)
}

// Free returns the number of indexes in the free list.
func (h *Allocator) Free() int { return len(h.free) }

// Retired returns the number of slots with no version left.
func (h *Allocator) Retired() int { return h.retired }
