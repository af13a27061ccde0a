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
func (a *Allocator) Size() Size {
	return Size{
		Taken:    int(a.given) - len(a.free),
		Used:     slotBytes * uint64(int(a.given)-len(a.free)-a.retired),
		Reserved: slotBytes*pageSize*uint64(a.pages()) + indexBytes*uint64(cap(a.free)),
	}
}

// Size measures the slots of the entities that ports create.
func (p *PortAllocator) Size() Size {
	pages := p.pages()
	p.mu.Lock()
	defer p.mu.Unlock()
	return Size{
		Taken:    int(p.mu.drawn) - len(p.mu.pool),
		Used:     slotBytes * uint64(int(p.mu.drawn)-len(p.mu.pool)-p.retired),
		Reserved: slotBytes*pageSize*uint64(pages) + takerBytes*pageSize*uint64(len(p.mu.takers)) + handleBytes*uint64(cap(p.mu.pool)+cap(p.freed)),
	}
}
