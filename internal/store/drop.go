package store

// Drop gives the memory of all tables back. They must be empty, and nothing may be stored in them
// again. A table that a caller has kept stays empty.
func (s *Shard) Drop() {
	for _, t := range s.tables {
		t.chunks, t.dirty, t.loopMarks, t.cur = nil, nil, nil, noChunk
	}
	s.tally.runs, s.changes.runs = nil, nil
	s.Allocator.Drop()
	s.compaction, s.retagging, s.migration.moves = compaction{}, retagging{}, nil
}

// Drop gives the memory of all columns back. The shards have dropped their tables. The slots stay,
// so that every handle is still known to be stale.
func (s *Space) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chunks.Store(new(make([]chunkEntry, firstChunks)))
	s.noRuns = newRuns(firstChunks)
	for _, c := range s.Columns {
		c.dropAll(s.noRuns)
	}
}

// dropAll is drop for every chunk, for good. runs is as for stretch.
func (c *Column) dropAll(runs []Run) {
	c.publish(&columnDir{own: runs, all: runs})
	c.spare, c.held = nil, 0
}
