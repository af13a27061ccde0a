package world

import (
	"sync/atomic"
	"unsafe"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/shard"
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

// What a Writer does for every entity is inlined, although it is more than the compiler inlines
// otherwise: a function literal that is called once is inlined up to a cost of 800 instead of 80,
// and one that costs more than 160 counts only as a call for the function around it. The first
// hand-out of a chunk in a tick takes the way of a call; see store.View.Note.

// Get is Reader.Get for writing. It is inlined.
//
// Safety: as for Reader.Get.
func (w *Writer[T]) Get(h handle.Handle) *T {
	return func() (row *T) {
		if check.Enabled {
			return store.AtWrite[T](&w.view, w.lookup.Locate(h))
		}
		p := unsafe.Add(w.refs, h>>slots.HomeShift&w.mask)
		if uint64(h) < atomic.LoadUint64((*uint64)(p)) {
			p = unsafe.Add(*(*unsafe.Pointer)(unsafe.Add(atomic.LoadPointer((*unsafe.Pointer)(unsafe.Add(p, slots.Table))), h>>slots.PageShift&slots.PageMask)), h>>slots.SlotShift&slots.SlotMask)
			if atomic.LoadUint32((*uint32)(p)) == uint32(h) {
				c := (*store.Run)(unsafe.Add(atomic.LoadPointer(w.runs), (*slots.Slot)(p).Loc>>slots.RowBits*store.RunBytes))
				if c.Written == w.owner {
					return (*T)(unsafe.Add(c.First, uintptr((*slots.Slot)(p).Loc&slots.RowMask)*unsafe.Sizeof(*row)))
				}
			}
		}
		return (*T)(w.view.FirstWrite(w.lookup.Locate(h)))
	}()
}

// At is Reader.At for writing. It is inlined.
//
// Safety: as for store.At.
func (w *Writer[T]) At(l shard.Loc) *T {
	return func() (row *T) {
		l := slots.Loc(l)
		if check.Enabled {
			return store.AtWrite[T](&w.view, l)
		}
		p := atomic.LoadPointer(w.runs)
		p = unsafe.Add(p, l>>slots.RowBits&(*store.Run)(p).Low*store.RunBytes)
		if l-(*store.Run)(p).Low < slots.RowsMax && (*store.Run)(p).Written == w.owner {
			return (*T)(unsafe.Add((*store.Run)(p).First, uintptr(l&slots.RowMask)*unsafe.Sizeof(*row)))
		}
		if row = store.At[T](&w.view, l); row != nil {
			w.view.Note(l)
		}
		return
	}()
}

// Slice is Reader.Slice for writing. It is inlined.
//
// Safety: as for store.Slice.
func (w *Writer[T]) Slice(ch Chunk) []T {
	return func() (rows []T) {
		if check.Enabled {
			return store.SliceWrite[T](&w.view, store.Rows(ch))
		}
		if rows = store.Slice[T](&w.view, store.Rows(ch)); len(rows) > 0 && !w.view.Noted(store.Rows(ch)) {
			w.view.NoteRows(store.Rows(ch))
		}
		return
	}()
}
