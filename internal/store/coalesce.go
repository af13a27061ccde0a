package store

import "slices"

// coalesce moves the rows of the smaller chunks of a table that has grown into its last chunk,
// as far as they fit there, and gives those chunks up. Rows keep their order.
//
//	[16 rows][64 rows][256 rows: 20 used]   ──▶   [256 rows: 100 used]
//
// So a loop over many small tables visits one run of each, and a table that grows keeps no small
// chunks. A row moves at most once for each chunk size. No row may be marked.
func (t *Table) coalesce() {
	if t.Rows() == 0 {
		return
	}
	last := t.last()
	from, n := last.order, 0
	for from > 0 {
		c := t.chunks[from-1]
		if n+c.n+last.n > last.Cap() {
			break
		}
		from, n = from-1, n+c.n
	}
	if n == 0 {
		return
	}
	last.ready(last.n + n)
	last.moveRows(n, last, 0, last.n, &t.same)
	last.n += n
	at := 0
	for _, c := range t.chunks[from:last.order] {
		last.moveRows(at, c, 0, c.n, &t.same)
		at += c.n
		t.shard.space.remove(c)
	}
	last.changed = t.shard.space.now - 1 // the tick that has just ended
	t.chunks = slices.Delete(t.chunks, from, last.order)
	t.renumber(1)
}

// remove takes a chunk's rows from its columns, which keep them for later use, and takes back its
// number.
func (s *Space) remove(c *Chunk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, col := range c.table.columns {
		col.drop(c.number(), max(c.n, c.used))
	}
	s.dropKept(c)
	s.spare.Store(true)
	(*s.chunks.Load())[c.number()] = chunkEntry{}
	s.mu.vacant = append(s.mu.vacant, c.number())
}
