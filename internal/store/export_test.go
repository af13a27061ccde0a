package store

import "github.com/atoll-sim/atoll/handle"

// SetChunks makes the space believe that n chunk numbers were given.
func (s *Space) SetChunks(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.chunks = n
	d := make([]chunkEntry, n+2)
	copy(d, *s.chunks.Load())
	s.chunks.Store(&d)
}

// Take is take, for a world of its own.
func Take[T any](n int) []T {
	return take[T](&NewSpace(2, handle.IndexMax, handle.VersionMax).mu.memory, n)
}

// FirstLoc returns where a chunk's first row is.
func FirstLoc(c *Chunk) Loc { return c.base }

// FullHome makes a directory in which one home has all of its slots, and returns what says
// whether an entity is alive, each being that of the handle asked for last, and whether a
// handle has a slot.
func FullHome(home uint32) (alive, hasSlot func(handle.Handle) bool) {
	l, table, slots := newLookup(handle.ShardMax+1), make([]*page, pagesMax), new(page)
	for i := range table {
		table[i] = slots
	}
	l.enter(home, table, pagesMax)
	if l.pages(home) != pagesMax {
		panic("not all pages")
	}
	hasSlot = func(h handle.Handle) bool { return l.slot(h) != nil }
	return func(h handle.Handle) bool {
		slots[h.Index()%pageSize].store(uint32(h))
		return l.Alive(h)
	}, hasSlot
}
