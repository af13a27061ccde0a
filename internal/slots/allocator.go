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
func (a *Allocator) Init(d *Directory, id int) {
	*a = Allocator{home: newHome(d, uint32(id))}
	d.shards[id] = a
}

// freshAtOnce is the least number of indexes that go to the free list at a time.
const freshAtOnce = 64

// Pop takes the next index out of the free list, which must not be empty. It is small enough to be
// inlined, and so is Next; both in one function would not be.
func (a *Allocator) Pop() uint32 {
	n := len(a.free) - 1
	i := a.free[n]
	a.free = a.free[:n]
	return i
}

// Next returns the next handle of a free index, and its slot. It does not write the slot.
func (a *Allocator) Next(i uint32) (handle.Handle, *Slot) {
	slot := a.ref.slot(i)
	return Compose(a.id, i, slot.Load()&versionMask), slot
}

// Refill puts about want indexes that were never used into the empty free list, in an order that
// gives them ascending.
func (a *Allocator) Refill(want int) error {
	if int(a.given>>pageBits) == a.pages() {
		if err := a.grow(); err != nil {
			return err
		}
	}
	n := min(int64(max(want, freshAtOnce)), int64(pageSize-a.given%pageSize), int64(a.dir.indexMax)+1-int64(a.given))
	if n <= 0 {
		return a.errIndexes()
	}
	a.fresh(int(n))
	return nil
}

// fresh puts the next n indexes, which lie in one page, into the free list.
func (a *Allocator) fresh(n int) {
	a.free = slices.Grow(a.free, n)
	have := len(a.free)
	a.free = a.free[:have+n]
	fresh, given, first := a.free[have:], a.given, a.dir.versions.first
	in := a.ref.page(given)[given%pageSize:][:n]
	for k := range in {
		i := given + uint32(k)
		in[k].StoreBatched(word(Compose(a.id, i, first), StateUnused))
		fresh[len(fresh)-1-k] = i
	}
	a.given += uint32(n)
}

// ReserveSlots makes room for n more handles.
func (a *Allocator) ReserveSlots(n int) error {
	for len(a.free)+a.pages()*pageSize-int(a.given) < n {
		if err := a.grow(); err != nil {
			return err
		}
	}
	return nil
}

// recycle takes back the slot of a dead atom's handle.
func (a *Allocator) recycle(dead handle.Handle) {
	if _, ok := a.ref.slot(dead.Index()).free(dead, a.dir.versions); ok {
		a.free = append(a.free, dead.Index())
	} else {
		a.retired++
	}
}

// Left returns how many handles are left.
func (a *Allocator) Left() int { return len(a.free) + int(int64(a.dir.indexMax)+1-int64(a.given)) }

// CheckLeft returns ErrIndexes if there are fewer than n handles left.
func (a *Allocator) CheckLeft(n int) error {
	if left := a.Left(); n > left {
		return fmt.Errorf("%w: home %d has %d left, of IndexMax = %d", ErrIndexes, a.id, left, a.dir.indexMax)
	}
	return nil
}

// AppendNext appends the handles that the next n creates give, without taking them. It returns
// ErrIndexes, and dst, if there are fewer.
func (a *Allocator) AppendNext(dst []handle.Handle, n int) ([]handle.Handle, error) {
	if err := a.CheckLeft(n); err != nil {
		return dst, err
	}
	for k := range n {
		next := Compose(a.id, a.given+uint32(k-len(a.free)), a.dir.versions.first)
		if i := len(a.free) - 1 - k; i >= 0 {
			next, _ = a.Next(a.free[i])
		}
		dst = append(dst, next)
	}
	return dst, nil
}

// PopN takes the next n indexes out of the free list; the last one is the first to give.
func (a *Allocator) PopN(n int) []uint32 {
	rest := len(a.free) - n
	all := a.free[rest:]
	a.free = a.free[:rest]
	return all
}

// Free returns the number of indexes in the free list.
func (a *Allocator) Free() int { return len(a.free) }
