package slots

import (
	"unsafe"

	"github.com/atoll-sim/atoll/handle"
)

// This file holds the look-ups. They use unsafe: a random access takes a quarter fewer instructions
// than with slices.

// The size of a directoryRef is 1<<refBits bytes, and its table is at offset Table.
var _ [0]struct{} = [unsafe.Sizeof(directoryRef{}) - 1<<refBits]struct{}{}
var _ [0]struct{} = [unsafe.Offsetof(directoryRef{}.table) - Table]struct{}{}

// ref returns the entry of a home, which must exist.
//
// Safety: as for Slot.
func (l *Lookup) ref(home uint32) *directoryRef {
	return (*directoryRef)(unsafe.Add(l.Refs, handle.Handle(home)<<refBits&l.Mask))
}

// Slot returns the slot that h names, or nil if there is none. It ignores the version. It is small
// enough to be inlined. Safe from any goroutine.
//
// Safety: the masked home is the offset of an entry: the entry of h's home or of a lower one. So a
// handle below end is of that home, and table, which is loaded after end, has its page.
func (l *Lookup) Slot(h handle.Handle) *Slot {
	e := (*directoryRef)(unsafe.Add(l.Refs, h>>HomeShift&l.Mask))
	if uint64(h) < e.end.Load() {
		return (*Slot)(unsafe.Add(*(*unsafe.Pointer)(unsafe.Add(unsafe.Pointer(e.table.Load()), h>>PageShift&PageMask)), h>>SlotShift&SlotMask))
	}
	return nil
}

// Drawn reports whether a shard may have drawn from the home of h since shards last saw each other's
// creates. The home of h exists, or h is not alive. It is small enough to be inlined.
//
// Safety: as for Slot.
func (l *Lookup) Drawn(h handle.Handle) bool {
	return (*directoryRef)(unsafe.Add(l.Refs, h>>HomeShift&l.Mask)).drawn.Load() != 0
}

// Locate returns where the atom of h is, or 0 if h is not alive. It is small
// enough to be inlined.
//
// Safety: as for Slot.
func (l *Lookup) Locate(h handle.Handle) Loc {
	e := (*directoryRef)(unsafe.Add(l.Refs, h>>HomeShift&l.Mask))
	if uint64(h) < e.end.Load() {
		if s := (*Slot)(unsafe.Add(*(*unsafe.Pointer)(unsafe.Add(unsafe.Pointer(e.table.Load()), h>>PageShift&PageMask)), h>>SlotShift&SlotMask)); s.Load() == uint32(h) {
			return s.Loc
		}
	}
	return 0
}

// Alive reports whether h is alive. Safe from any goroutine at any time; it never
// blocks and never writes. It is small enough to be inlined.
//
// Safety: as for Slot.
func (l *Lookup) Alive(h handle.Handle) bool {
	e := (*directoryRef)(unsafe.Add(l.Refs, h>>HomeShift&l.Mask))
	if uint64(h) < e.end.Load() {
		g := (*Slot)(unsafe.Add(*(*unsafe.Pointer)(unsafe.Add(unsafe.Pointer(e.table.Load()), h>>PageShift&PageMask)), h>>SlotShift&SlotMask)).Load()
		return g == uint32(h) && g != 0 // 0: never used, and h has version 0
	}
	return false
}

// page returns the page of an index of the home, which must have one.
//
// Safety: as for slot.
func (d *directoryRef) page(index uint32) *page {
	return *(**page)(unsafe.Add(unsafe.Pointer(d.table.Load()), uintptr(index>>pageBits)*pointerBytes))
}

// slot returns the slot of an index of the home, which must have a page.
//
// Safety: as for Lookup.Slot.
func (d *directoryRef) slot(index uint32) *Slot { return d.pages().slot(index) }

// pages is the table of a home's pages, for a loop over slots.
type pages struct{ first unsafe.Pointer }

// pages returns the present table.
//
// Safety: as for slot.
func (d *directoryRef) pages() pages { return pages{unsafe.Pointer(d.table.Load())} }

// slot returns the slot of an index that has a page.
//
// Safety: as for Lookup.Slot.
func (p pages) slot(index uint32) *Slot {
	page := *(*unsafe.Pointer)(unsafe.Add(p.first, uintptr(index>>pageBits)*pointerBytes))
	return (*Slot)(unsafe.Add(page, uintptr(index%pageSize)*slotBytes))
}
