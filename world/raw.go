package world

import (
	"sync/atomic"
	"unsafe"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// Get returns the component of an entity, or nil if the entity is not alive, is not within reach or
// lacks the component. The pointer is good until the refresh. All checks are always on. Get reads
// two cache lines of the entity's own. It is small enough to be inlined. To look up several
// components of one entity, call Locate once and use At.
//
// Safety: as for slots.Lookup.Slot. The list of runs is loaded after the generation that made the
// entity alive, so it has an entry for the entity's chunk.
func (r *Reader[T]) Get(h handle.Handle) (row *T) {
	// This is slots.Lookup.Locate and store.At in one. It does not check that the chunk has
	// the row, because the location of an entity is always that of a row.
	if check.Enabled {
		return store.At[T](&r.view, r.lookup.Locate(h))
	}
	p := unsafe.Add(r.refs, h>>slots.HomeShift&r.mask)
	if uint64(h) < atomic.LoadUint64((*uint64)(p)) {
		p = unsafe.Add(*(*unsafe.Pointer)(unsafe.Add(atomic.LoadPointer((*unsafe.Pointer)(unsafe.Add(p, slots.Table))), h>>slots.PageShift&slots.PageMask)), h>>slots.SlotShift&slots.SlotMask)
		if atomic.LoadUint32((*uint32)(p)) == uint32(h) {
			c := (*store.Run)(unsafe.Add(atomic.LoadPointer(r.runs), (*slots.Slot)(p).Loc>>slots.RowBits*store.RunBytes))
			if c.Owner == r.owner {
				return (*T)(unsafe.Add(c.First, uintptr((*slots.Slot)(p).Loc&slots.RowMask)*unsafe.Sizeof(*row)))
			}
		}
	}
	return
}

// Get is Reader.Get for writing. It costs a call, unless the program is built with a profile
// (default.pgo) that shows it to be hot: then the compiler inlines it. At of what Locate returns
// takes three quarters of the time without one, because both are always inlined.
//
// Safety: as for Reader.Get.
func (w *Writer[T]) Get(h handle.Handle) (row *T) {
	if check.Enabled {
		return store.AtWrite[T](&w.view, w.lookup.Locate(h))
	}
	p := unsafe.Add(w.refs, h>>slots.HomeShift&w.mask)
	if uint64(h) < atomic.LoadUint64((*uint64)(p)) {
		p = unsafe.Add(*(*unsafe.Pointer)(unsafe.Add(atomic.LoadPointer((*unsafe.Pointer)(unsafe.Add(p, slots.Table))), h>>slots.PageShift&slots.PageMask)), h>>slots.SlotShift&slots.SlotMask)
		if atomic.LoadUint32((*uint32)(p)) == uint32(h) {
			c := (*store.Run)(unsafe.Add(atomic.LoadPointer(w.runs), (*slots.Slot)(p).Loc>>slots.RowBits*store.RunBytes))
			if c.Owner == w.owner {
				*c.Stamp = *w.now
				return (*T)(unsafe.Add(c.First, uintptr((*slots.Slot)(p).Loc&slots.RowMask)*unsafe.Sizeof(*row)))
			}
		}
	}
	return
}
