package slots

import (
	"fmt"
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

// Allocator hands out the slots of the homes of one shard and takes them back. A shard has one home
// unless the world was loaded from one with more shards: see Homes. It draws from one home at a time.
//
// Invariants: an index is in the free list, held by a live or pending handle, retired, or not given
// yet. A free index is handed out with a higher version than it ever had.
//
// Ownership: the shard's owner. See PortAllocator for the home that any goroutine may draw from.
type Allocator struct {
	home
	dead  struct{ shards, ports []handle.Handle } // whose slots the step recycle frees
	homes []home                                  // all homes of the shard by number, if it has several; home is the newer state of one
	at    int                                     // which one that is
}

// home is what the homes of shards and that of ports have alike: slots in the directory.
//
// Ownership: as for the Allocator or PortAllocator that it is part of.
type home struct {
	dir     *Directory
	ref     *directoryRef
	id      uint32
	retired int

	// Of a shard's home; the home of ports has a pool.
	given uint32 // the lowest index that was never given
	free  []uint32
}

// newHome returns what a new allocator has of its home: no slots.
func newHome(d *Directory, id uint32) home { return home{dir: d, ref: d.ref(id), id: id} }

// pages returns how many pages of slots the home has.
func (h *home) pages() int { return h.dir.Pages(h.id) }

// grow adds pages to the home, for its owner. After an error it has added none.
func (h *home) grow() error { return h.dir.grow(h.id, h.pages()) }

// Retired returns the number of slots whose versions are used up.
func (h *home) Retired() int { return h.retired }

// errIndexes returns the error for this home without indexes.
func (h *home) errIndexes() error { return h.dir.errIndexes(h.id, h.retired) }

// Init makes the allocator of the shard with the given number, for a new world.
func (a *Allocator) Init(d *Directory, id int) {
	*a = Allocator{home: newHome(d, uint32(id))}
	d.shards[id] = a
}

// freshAtOnce is the least number of indexes that go to the free list at a time.
const freshAtOnce = 64

// Pop takes the next index out of the free list, which must not be empty: see Refill. It is small
// enough to be inlined, and so is Next; both in one function would not be.
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
// gives them ascending. After an error the list is as before.
func (a *Allocator) Refill(want int) error {
	if a.homes != nil && a.turn() {
		return nil
	}
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

// fresh puts the next n indexes, which lie in one page of the home, into the free list.
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

// ReserveSlots makes room for n more handles. After an error the room that could be made stays.
func (a *Allocator) ReserveSlots(n int) error {
	if a.homes != nil {
		return a.reserveAll(n)
	}
	for len(a.free)+a.pages()*pageSize-int(a.given) < n {
		if err := a.grow(); err != nil {
			return err
		}
	}
	return nil
}

// recycle takes back the slot of a dead atom's handle, whose home is here, or retires it.
func (h *home) recycle(dead handle.Handle) {
	if _, ok := h.ref.slot(dead.Index()).free(dead, h.dir.versions); ok {
		h.free = append(h.free, dead.Index())
	} else {
		h.retired++
	}
}

// left returns how many handles of the home are left.
func (h *home) left() int { return len(h.free) + h.unused() }

// unused returns how many indexes of the home were never given.
func (h *home) unused() int { return int(int64(h.dir.indexMax) + 1 - int64(h.given)) }

// Left returns how many handles are left.
func (a *Allocator) Left() (n int) {
	if a.homes == nil {
		return a.left()
	}
	for i := range a.homes {
		n += a.homeAt(i).left()
	}
	return n
}

// CheckLeft returns ErrIndexes if there are fewer than n handles left. It changes nothing.
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
		dst = append(dst, a.nth(k))
	}
	return dst, nil
}

// Nth returns the handle that the create after n others gives, without taking any. It returns
// ErrIndexes if there are not that many.
func (a *Allocator) Nth(n int) (handle.Handle, error) {
	if n >= len(a.free) {
		if err := a.CheckLeft(n + 1); err != nil {
			return handle.None, err
		}
	}
	return a.nth(n), nil
}

// nth is Nth, if there are that many.
func (a *Allocator) nth(n int) handle.Handle {
	if i := len(a.free) - 1 - n; i >= 0 {
		h, _ := a.Next(a.free[i])
		return h
	}
	if a.homes != nil {
		return a.nthOfAll(n)
	}
	return Compose(a.id, a.given+uint32(n-len(a.free)), a.dir.versions.first)
}

// PopN takes the next n indexes out of the free list, which must have them; the last one is the
// first to give.
func (a *Allocator) PopN(n int) []uint32 {
	rest := len(a.free) - n
	all := a.free[rest:]
	a.free = a.free[:rest]
	return all
}

// Free returns the number of indexes in the free list of the home that the shard draws from.
func (a *Allocator) Free() int { return len(a.free) }

// Deferred returns how many dead handles wait here for their homes to free them.
func (a *Allocator) Deferred() int { return len(a.dead.shards) + len(a.dead.ports) }

// ShardDead returns the deferred handles whose home belongs to a shard, in order.
func (a *Allocator) ShardDead() []handle.Handle { return a.dead.shards }

// PortDead returns the deferred handles whose home is the port allocator, in order.
func (a *Allocator) PortDead() []handle.Handle { return a.dead.ports }

// ForgetDeferred forgets the deferred handles, at the end of a tick, when their homes have freed
// them.
func (a *Allocator) ForgetDeferred() {
	a.dead.shards, a.dead.ports = a.dead.shards[:0], a.dead.ports[:0]
}

// DeferFree leaves the slot of a dead atom to the shard of its home, or to the port allocator, which
// frees it in the step recycle of the refresh.
func (a *Allocator) DeferFree(dead handle.Handle) {
	if dead.Home() == a.dir.ports() {
		a.dead.ports = append(a.dead.ports, dead)
	} else {
		a.dead.shards = append(a.dead.shards, dead)
	}
}

// Recycle frees the slots of dead handles whose home is here, in the step recycle.
func (a *Allocator) Recycle(dead []handle.Handle) {
	for _, x := range dead {
		a.of(x).recycle(x)
	}
}

// GrowFree makes room in the free list for n more, in one allocation, before the step compact frees
// them.
func (a *Allocator) GrowFree(n int) { a.free = slices.Grow(a.free, n) }

// Drop gives the memory of the free list back, when the world is closed. The home gives no more
// handles.
func (a *Allocator) Drop() {
	a.free, a.dead.shards, a.dead.ports = nil, nil, nil
	for i := range a.homes {
		a.homes[i].free = nil
	}
}

// FreeAll frees the slots of dead atoms in order, or from the last to the first, in the step
// compact. It defers the handles of other homes.
func (a *Allocator) FreeAll(dead []handle.Handle, fromLast bool) {
	a.free = slices.Grow(a.free, len(dead)) // so that the room is checked once
	free := a.free[:len(a.free)+len(dead)]
	n := len(a.free)
	i, step := 0, 1
	if fromLast {
		i, step = len(dead)-1, -1
	}
	for {
		i, n = a.freeOwn(dead, i, step, free, n)
		if uint(i) >= uint(len(dead)) {
			break
		}
		if x := dead[i]; x.Home() != a.id {
			a.DeferFree(x)
		} else {
			a.free = free[:n]
			a.recycle(x) // with the first version of the window, or it retires
			n = len(a.free)
		}
		i += step
	}
	a.free = free[:n]
}

// freeOwn frees the slots of dead handles, from dead[i] on. It stops at the first handle of another
// home, and at the first whose next version is not one more. It puts the indexes after the first n
// of free, and returns where it stopped. Entities that die together mostly were created together, so
// it takes those that have their slots in one page at a time.
func (a *Allocator) freeOwn(dead []handle.Handle, i, step int, free []uint32, n int) (at, freed int) {
	of := a.dir.versions
	for uint(i) < uint(len(dead)) {
		x := dead[i]
		if x.Home() != a.id || !of.hasNext(x) {
			break
		}
		first := Compose(a.id, x.Index()&^(pageSize-1), of.first)
		some := freeAll(a.ref.page(x.Index()), dead, i, step, first, handle.Handle(of.last-of.first), free[n:])
		i, n = i+some*step, n+some
	}
	return i, n
}

// inPage are the bits of a handle that say which slot of its page it names.
const inPage = handle.Handle(pageSize-1) << handle.VersionBits

// freeAll frees the slots of dead handles, from dead[i] on, as long as they are in a page and their
// next version is one more. It puts their indexes into free, which has room for all, and returns how
// many they are. first is the handle of the page's first slot with the first version of the window,
// and each how many versions follow that. So one comparison checks home, page and version: in the
// difference of a handle from first, a lower version is a huge one. It is not inlined, because its
// loop takes all registers.
//
//go:noinline
func freeAll(p *page, dead []handle.Handle, i, step int, first handle.Handle, each handle.Handle, free []uint32) (n int) {
	for n = range free {
		if uint(i) >= uint(len(dead)) {
			return n
		}
		x := dead[i]
		if (x-first)&^inPage >= each {
			return n
		}
		p[x.Index()%pageSize].StoreBatched(word(x+1, StateUnused)) // the version is the low field
		free[n] = x.Index()
		i += step
	}
	return len(free)
}
