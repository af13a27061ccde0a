package store

import "github.com/atoll-sim/atoll/handle"

// Drop gives the memory of all tables back. They must be empty, and nothing may be
// stored in them again. A table that a caller has kept is empty from now on.
func (s *Shard) Drop() {
	for _, t := range s.tables {
		t.chunks, t.dirty, t.marks, t.cur = nil, nil, nil, noChunk
	}
	s.free, s.holes, s.moves, s.scratch, s.remoteDead, s.runs, s.cut = nil, nil, nil, nil, nil, nil, nil
}

// Drop gives the memory of all columns back. The shards have dropped their tables. The
// slots are left, so that every handle is still known to be stale.
func (s *Space) Drop(columns []AnyColumn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chunks.Store(new([]chunkEntry))
	for _, c := range columns {
		c.dropAll()
	}
}

func (c *Column[T]) dropAll() {
	c.dir.Store(newColumnDir[T](firstChunks))
	c.spare = nil
	for _, views := range c.views {
		c.show(views)
	}
}

// EndAll makes every living handle stale, without a refresh: the space is no longer used.
// Handles that ports have are pending afterwards.
func (s *Space) EndAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for home := range uint32(s.homes) {
		for n := range uint32(s.pages(home) * pageSize) {
			h := compose(home, n, 0)
			slot := s.slot(h)
			version, state := unpack(slot.load(), h)
			if version != 0 && state != StateUnused && state != StateRetired {
				slot.free(h|handle.Handle(version), s.versionMax)
			}
		}
	}
}
