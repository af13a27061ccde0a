package store

// Size is what a shard's storage takes.
type Size struct {
	Tables, Chunks int
	// Used is the bytes of occupied rows and given slots, Reserved those of all
	// chunks and slot pages.
	Used, Reserved uint64
}

const (
	slotBytes   = 8
	handleBytes = 8
)

// Size measures the shard's tables and slots. Its cost grows with the number of tables
// and chunks.
func (s *Shard) Size() Size {
	size := s.Allocator.size()
	size.Tables = len(s.tables)
	for _, t := range s.tables {
		row := uint64(handleBytes)
		for _, b := range t.sizes {
			row += uint64(b)
		}
		size.Chunks += len(t.chunks)
		size.Used += row * uint64(t.Rows())
		for _, c := range t.chunks {
			size.Reserved += row*uint64(c.Cap()) + uint64(len(c.marks))*8
		}
	}
	return size
}

func (h *Allocator) size() Size {
	return Size{
		Used:     slotBytes * uint64(int(h.given)-len(h.free)-h.retired),
		Reserved: slotBytes*pageSize*uint64(h.pages()) + 4*uint64(cap(h.free)),
	}
}

// Size measures the slots of the entities that ports create.
func (o *PortAllocator) Size() Size {
	pages := o.pages()
	o.mu.Lock()
	defer o.mu.Unlock()
	return Size{
		Used:     slotBytes * uint64(int(o.mu.drawn)-len(o.mu.pool)-o.retired),
		Reserved: slotBytes*pageSize*uint64(pages) + handleBytes*uint64(cap(o.mu.pool)+cap(o.freed)),
	}
}
