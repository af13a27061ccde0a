package slots

const (
	slotBits    = 3 // the size of a Slot, as a shift
	slotBytes   = 1 << slotBits
	handleBytes = 8
	indexBytes  = 4
	takerBytes  = 4
)

// SlotSize is what slots take, in bytes.
type Size struct {
	Used     uint64 // of given ones
	Reserved uint64 // of all pages, and of lists
	Taken    int    // how many indexes are in use, or retired
}

// Size measures the slots of a home.
func (h *Allocator) Size() Size {
	return Size{
		Taken:    int(h.given) - len(h.free),
		Used:     slotBytes * uint64(int(h.given)-len(h.free)-h.retired),
		Reserved: slotBytes*pageSize*uint64(h.pages()) + indexBytes*uint64(cap(h.free)),
	}
}

// Size measures the slots of the entities that ports create.
func (o *PortAllocator) Size() Size {
	pages := o.pages()
	o.mu.Lock()
	defer o.mu.Unlock()
	return Size{
		Taken:    int(o.mu.drawn) - len(o.mu.pool),
		Used:     slotBytes * uint64(int(o.mu.drawn)-len(o.mu.pool)-o.retired),
		Reserved: slotBytes*pageSize*uint64(pages) + takerBytes*pageSize*uint64(len(o.mu.takers)) + handleBytes*uint64(cap(o.mu.pool)+cap(o.freed)),
	}
}
