package slots

import (
	"fmt"
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

// Allocator hands out the slots of one shard and takes them back.
//
// Invariants: an index is in the free list, held by a live or pending handle, retired, or not given
// yet. A free index is handed out with a higher version than it ever had.
//
// Ownership: the shard's owner. See PortAllocator for the home that any goroutine may draw from.
type Allocator struct {
	home
	given uint32 // the lowest index that was never given
	free  []uint32
	dead  struct{ shards, ports []handle.Handle } // with their home elsewhere
}

// Init makes the allocator of the shard with the given number.
func (h *Allocator) Init(d *Directory, id int) {
	*h = Allocator{home: newHome(d, uint32(id))}
	d.shards[id] = h
}

// freshAtOnce is the least number of indexes that go to the free list at a time.
const freshAtOnce = 64

// Pop takes the next index out of the free list, which must not be empty. It is small enough to be
// inlined, and so is Next; both in one function would not be.
func (h *Allocator) Pop() uint32 {
	n := len(h.free) - 1
	i := h.free[n]
	h.free = h.free[:n]
	return i
}

// Next returns the next handle of a free index, and its slot. It does not write the slot.
func (h *Allocator) Next(i uint32) (handle.Handle, *Slot) {
	slot := h.ref.slot(i)
	return Compose(h.id, i, slot.Load()&versionMask), slot
}

// Refill puts about want indexes that were never used into the empty free list, in an order that
// gives them ascending.
func (h *Allocator) Refill(want int) error {
	if int(h.given>>pageBits) == h.pages() {
		if err := h.grow(); err != nil {
			return err
		}
	}
	n := min(int64(max(want, freshAtOnce)), int64(pageSize-h.given%pageSize), int64(h.dir.indexMax)+1-int64(h.given))
	if n <= 0 {
		return h.errIndexes()
	}
	h.fresh(int(n))
	return nil
}

// fresh puts the next n indexes, which lie in one page, into the free list.
func (h *Allocator) fresh(n int) {
	h.free = slices.Grow(h.free, n)
	have := len(h.free)
	h.free = h.free[:have+n]
	fresh, given, first := h.free[have:], h.given, h.dir.versions.first
	in := h.ref.page(given)[given%pageSize:][:n]
	for k := range in {
		i := given + uint32(k)
		in[k].StoreBatched(word(Compose(h.id, i, first), StateUnused))
		fresh[len(fresh)-1-k] = i
	}
	h.given += uint32(n)
}

// ReserveSlots makes room for n more handles.
func (h *Allocator) ReserveSlots(n int) error {
	for len(h.free)+h.pages()*pageSize-int(h.given) < n {
		if err := h.grow(); err != nil {
			return err
		}
	}
	return nil
}

// recycle takes back the slot of a dead atom's handle.
func (h *Allocator) recycle(dead handle.Handle) {
	if _, ok := h.ref.slot(dead.Index()).free(dead, h.dir.versions); ok {
		h.free = append(h.free, dead.Index())
	} else {
		h.retired++
	}
}

// Left returns how many handles are left.
func (h *Allocator) Left() int { return len(h.free) + int(int64(h.dir.indexMax)+1-int64(h.given)) }

// CheckLeft returns ErrIndexes if there are fewer than n handles left.
func (h *Allocator) CheckLeft(n int) error {
	if left := h.Left(); n > left {
		return fmt.Errorf("%w: home %d has %d left, of IndexMax = %d", ErrIndexes, h.id, left, h.dir.indexMax)
	}
	return nil
}

// AppendNext appends the handles that the next n creates give, without taking them. It returns
// ErrIndexes, and dst, if there are fewer.
func (h *Allocator) AppendNext(dst []handle.Handle, n int) ([]handle.Handle, error) {
	if err := h.CheckLeft(n); err != nil {
		return dst, err
	}
	for k := range n {
		next := Compose(h.id, h.given+uint32(k-len(h.free)), h.dir.versions.first)
		if i := len(h.free) - 1 - k; i >= 0 {
			next, _ = h.Next(h.free[i])
		}
		dst = append(dst, next)
	}
	return dst, nil
}

// PopN takes the next n indexes out of the free list; the last one is the first to give.
func (h *Allocator) PopN(n int) []uint32 {
	rest := len(h.free) - n
	all := h.free[rest:]
	h.free = h.free[:rest]
	return all
}

// Free returns the number of indexes in the free list.
func (h *Allocator) Free() int { return len(h.free) }
