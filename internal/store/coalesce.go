package store

import (
	"cmp"
	"slices"
)

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

// gatherChunksMax is the largest number of chunks that gather makes. In larger tables the small
// chunks at the head hold few of the rows.
const gatherChunksMax = 4

// coalesceAll coalesces the small chunks of the tables that have grown. It stops when it has
// gathered stripBytesMax: the next refresh goes on with the others, in the order of the list of
// tables.
func (s *Shard) coalesceAll() {
	if len(s.fragmented) > 1 {
		slices.SortFunc(s.fragmented, func(a, b *Table) int { return cmp.Compare(a.serial, b.serial) })
	}
	if len(s.fragmented) > 0 {
		s.settle()
	}
	left := s.fragmented[:0]
	bytes := uint64(0)
	for _, t := range s.fragmented {
		t.coalesce()
		if n := t.gatherBytes(); n > 0 {
			if bytes >= stripBytesMax {
				left = append(left, t)
				continue
			}
			bytes += n
			t.gather()
		}
		t.fragmented = false
	}
	clear(s.fragmented[len(left):])
	s.fragmented = left
}

// gatherBytes returns how many bytes gather would move, or 0 if there is nothing to gather: only a
// few of the largest chunks behind smaller ones are, and only if their rows take no more than a
// strip.
func (t *Table) gatherBytes() uint64 {
	rows, most := t.Rows(), t.growth.RowsMax
	bytes := uint64(rows) * (t.rowBytes + rowBytes)
	if rows == 0 || rows > gatherChunksMax*most || bytes > stripBytesMax ||
		t.last().Cap() != most || t.chunks[0].Cap() == most || len(t.dirty) > 0 {
		return 0
	}
	return bytes
}

// gather moves all rows to new chunks of the largest size, in order, and gives the old chunks up:
//
//	[16 rows][64 rows][256 rows][1024 rows][4096 rows][4096 rows: 2000 used]
//	                                                    ──▶   [4096 rows][4096 rows: 3360 used]
//
// A table that grew to this size within a tick would keep its small chunks otherwise. No row may be
// marked. It does nothing if the world is out of chunks.
func (t *Table) gather() {
	most, rows, old, used := t.growth.RowsMax, t.Rows(), t.chunks, t.used()
	t.chunks, t.cur = nil, noChunk
	for n := rows; n > 0; n -= most {
		if t.add(most, n) != nil {
			for _, c := range t.chunks {
				t.shard.space.remove(c)
			}
			t.chunks = old
			t.renumber(1)
			return
		}
	}
	to := t.chunks[0]
	for _, c := range old[:used] {
		for from := 0; from < c.n; {
			if to.n == most {
				to = t.chunks[to.order+1]
			}
			n := min(c.n-from, most-to.n)
			to.ready(to.n + n)
			to.moveRows(to.n, c, from, n, &t.same)
			to.n, from = to.n+n, from+n
		}
		t.shard.space.remove(c)
	}
	for _, c := range t.chunks {
		c.changed = t.shard.space.now - 1 // the tick that has just ended
		for i := range c.written {
			c.written[i] = c.changed
		}
	}
	t.chunks = append(t.chunks, old[used:]...)
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
