package store

import "slices"

// coalesce moves the rows of the smaller chunks of a table that has grown into its last chunk,
// as far as they fit there, and gives those chunks up. Rows keep their order.
//
//	[16 rows][64 rows][256 rows: 20 used]   ──▶   [256 rows: 100 used]
//
// So a loop over many small tables visits one run of each, and a table that grows
// does not leave small chunks behind. A row moves at most once for each chunk size. No row
// may be marked.
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
	last.shift(n)
	at := 0
	for _, c := range t.chunks[from:last.order] {
		last.copyFrom(at, c)
		at += c.n
		t.shard.space.remove(c, true)
	}
	last.changed = t.shard.space.now - 1 // the tick that has just ended
	t.chunks = slices.Delete(t.chunks, from, last.order)
	t.renumber(1)
}

// shift moves all rows of the chunk up by n. The caller overwrites the first n rows.
func (c *Chunk) shift(n int) {
	t := c.table
	for i, col := range t.columns {
		if t.plain[i] {
			copyRows(c.bases[i], n, c.bases[i], 0, c.n, t.sizes[i])
			continue
		}
		for row := c.n - 1; row >= 0; row-- {
			col.copy(c.base+Loc(row+n), c.base+Loc(row))
		}
	}
	copy(c.handles[n:n+c.n], c.handles[:c.n])
	for row := c.n - 1; row >= 0; row-- {
		c.carryFlags(row+n, c, row)
	}
	c.n += n
	c.located(n, c.n)
}

// copyFrom takes the rows of another chunk of the table, from row at on.
func (c *Chunk) copyFrom(at int, from *Chunk) {
	t := c.table
	for i, col := range t.columns {
		if t.plain[i] {
			copyRows(c.bases[i], at, from.bases[i], 0, from.n, t.sizes[i])
			continue
		}
		for row := range Loc(from.n) {
			col.copy(c.base+Loc(at)+row, from.base+row)
		}
	}
	copy(c.handles[at:], from.handles[:from.n])
	for row := range from.n {
		c.carryFlags(at+row, from, row)
	}
	c.located(at, at+from.n)
}

// located sets the locations in the slots of the rows from to to, exclusive.
func (c *Chunk) located(from, to int) {
	for row := from; row < to; row++ {
		c.table.shard.space.slot(c.handles[row]).loc = c.base + Loc(row)
	}
}

// remove takes a chunk's rows from its columns, which may keep them to use them again, and
// takes back its number.
func (s *Space) remove(c *Chunk, keep bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, col := range c.table.columns {
		col.drop(c.number(), keep)
	}
	if keep {
		s.spare.Store(true)
	}
	(*s.chunks.Load())[c.number()] = chunkEntry{}
	s.mu.vacant = append(s.mu.vacant, c.number())
}
