package slots

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

// Deferred returns how many dead handles wait here for their homes to free them.
func (a *Allocator) Deferred() int { return len(a.dead.shards) + len(a.dead.ports) }

// ShardDead returns those whose home is another shard, in order.
func (a *Allocator) ShardDead() []handle.Handle { return a.dead.shards }

// PortDead returns those whose home is the port allocator, in order.
func (a *Allocator) PortDead() []handle.Handle { return a.dead.ports }

// ForgetDeferred forgets them, when their homes have freed them.
func (a *Allocator) ForgetDeferred() {
	a.dead.shards, a.dead.ports = a.dead.shards[:0], a.dead.ports[:0]
}

// DeferFree leaves the slot of a dead atom to its home, another shard or the port allocator, which
// frees it in the step recycle of the refresh.
func (a *Allocator) DeferFree(dead handle.Handle) {
	if dead.Home() == a.dir.ports() {
		a.dead.ports = append(a.dead.ports, dead)
	} else {
		a.dead.shards = append(a.dead.shards, dead)
	}
}

// Recycle frees the slots of dead handles whose home is here.
func (a *Allocator) Recycle(dead []handle.Handle) {
	for _, x := range dead {
		a.recycle(x)
	}
}

// GrowFree makes room in the free list for n more, in one allocation.
func (a *Allocator) GrowFree(n int) { a.free = slices.Grow(a.free, n) }

// Drop gives the memory of the free list back. The home gives no more handles.
func (a *Allocator) Drop() { a.free, a.dead.shards, a.dead.ports = nil, nil, nil }

// FreeAll frees the slots of dead atoms in order, or from the last to the first. It records the
// handles of other homes.
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
