package store

import "github.com/atoll-sim/atoll/internal/slots"

// Size is the memory of a shard's storage.
type Size struct {
	Tables, Chunks int
	slots.Size     // with the bytes of occupied rows, and of all chunks
}

const rowBytes = 8 // for a row's handle

// Size measures the shard's tables and slots. Its cost grows with the number of tables
// and chunks.
func (s *Shard) Size() Size {
	size := Size{Tables: len(s.tables), Size: s.Allocator.Size()}
	for _, t := range s.tables {
		row := uint64(rowBytes)
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

// HeldBytes is the memory of rows that belong to no chunk, not yet or no longer.
func (s *Space) HeldBytes() (n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.Columns {
		n += c.heldBytes()
	}
	return n
}
