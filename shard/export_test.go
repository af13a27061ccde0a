package shard

import "github.com/atoll-sim/atoll/handle"

// SetChunks makes the space believe that n chunk numbers were given.
func (s *Space) SetChunks(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.chunks = n
	d := make([]*Chunk, n+2)
	copy(d, *s.chunks.Load())
	s.chunks.Store(&d)
}

// Directory enters so many pages of each of so many homes into a directory. It
// returns its length and how many entries are taken.
func Directory(homes, pages int) (length, taken int) {
	s := NewSpace(homes, handle.IndexMax, handle.VersionMax)
	d, slots := s.newDirectory(pages), new([pageSize]Slot)
	for home := range homes {
		for page := range pages {
			s.put(d, home, page, slots)
		}
	}
	for _, r := range d.refs {
		if r.base != noBase {
			taken++
		}
	}
	return len(d.refs), taken
}

// Take is take, for a world of its own.
func Take[T any](n int) []T {
	return take[T](&NewSpace(2, handle.IndexMax, handle.VersionMax).mu.memory, n)
}

// FirstLoc returns where a chunk's first row is.
func FirstLoc(c *Chunk) Loc { return c.base }
