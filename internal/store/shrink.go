package store

import (
	"cmp"
	"slices"
)

// Unfinished returns how much there is for EndTick to do. The coordinator asks, to skip the step if
// there is nothing.
func (s *Shard) Unfinished() int {
	n := len(s.grown) + len(s.fragmented) + s.Deferred() + len(s.flagged)
	if s.shrinks() {
		n++
	}
	return n
}

// EndTick ends a refresh: it forgets the dead of other homes and the marks of the tick's loops,
// coalesces the small chunks of tables that have grown, gives spare chunks back, and publishes
// flags. It is the step end tick, for one shard. It touches only the shard's own atoms, because
// other shards do the same at the same time.
func (s *Shard) EndTick() {
	for _, t := range s.grown {
		t.loopMarks = t.loopMarks[:0]
	}
	clear(s.grown)
	s.grown = s.grown[:0]
	s.coalesceAll()
	if s.shrinks() {
		s.shrink()
	}
	s.ForgetDeferred()
	s.PublishFlags()
}

// coalesce moves the rows of the smaller chunks of a table that has grown into its last chunk,
// as far as they fit there, and gives those chunks up. Rows keep their order.
//
//	[16 rows][64 rows][256 rows: 20 used]   ──▶   [256 rows: 100 used]
//
// So a loop over many small tables visits one run of each, and a table that grows keeps no small
// chunks. A row moves at most once for each chunk size. No row may be marked. The owner of the
// shard calls it, in the step end tick.
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
// marked. It does nothing if the world is out of chunks. The owner of the shard calls it, in the
// step end tick.
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

// Tables give memory that they no longer need back to the collector, by rules that depend only on
// the shard's history:
//
//   - Every shrinkEvery ticks a shard looks at the tables in which chunks became empty.
//   - An empty chunk goes if it has had no row for spareTicks, or for spareTicksFew if
//     the shard has more spare rows than atoms, and more than spareRowsMin.
//   - A table without chunks leaves the list if it has had none for as long.
//
// So a chunk that is empty every other tick keeps its memory, and a world in which component sets
// come and go does not grow. Reserved chunks stay until they have been used. A table that a bundle
// creates in comes back into the list with its next row. Others are made anew.
const (
	shrinkEvery   = 8
	spareTicks    = 64
	spareTicksFew = shrinkEvery
	spareRowsMin  = 1024
)

// Keep says that the caller keeps a pointer to the table, for rows to come. It changes nothing that
// others see.
func (t *Table) Keep() { t.kept = true }

// Gone reports whether the table is not in the shard's list.
func (t *Table) Gone() bool { return !t.in }

// shrinks reports whether a shard must look at its spare chunks in this refresh.
func (s *Shard) shrinks() bool { return len(s.shrinking.tables) > 0 && s.space.now%shrinkEvery == 0 }

// shrink gives back chunks and tables that have been spare for long enough. It belongs to the step
// end tick.
func (s *Shard) shrink() {
	rows := 0
	for _, t := range s.shrinking.tables {
		for _, c := range t.chunks[t.used():] {
			rows += c.Cap()
		}
	}
	ticks := uint32(spareTicks)
	if rows > max(s.Alive(), spareRowsMin) {
		ticks = spareTicksFew
	}
	s.shrinking.tables = slices.DeleteFunc(s.shrinking.tables, func(t *Table) bool {
		t.listed = t.shrink(ticks)
		return !t.listed
	})
	s.forgetGone()
}

// ShrinkAll gives back everything that is spare, at once. The world must be idle.
func (s *Shard) ShrinkAll() {
	all := slices.DeleteFunc(s.shrinking.tables, func(t *Table) bool { return t.in })
	s.shrinking.tables = nil
	for _, t := range append(all, s.tables...) {
		for _, c := range t.chunks {
			c.reserved = false
		}
		t.listed = t.shrink(0) // its chunks
		if t.listed {
			t.listed = t.shrink(0) // itself
		}
		if t.listed {
			s.shrinking.tables = append(s.shrinking.tables, t)
		}
	}
	s.forgetGone()
	s.compaction, s.retagging, s.migration.moves = compaction{}, retagging{}, nil
}

// forgetGone takes the tables that leave the list out of it.
func (s *Shard) forgetGone() {
	if s.shrinking.gone == 0 {
		return
	}
	s.tables = slices.DeleteFunc(s.tables, (*Table).Gone)
	s.shrinking.gone = 0
	s.removals++
}

// shrink gives back the chunks that have had no row for so many ticks. If the table has had no chunk
// for as long, it leaves the list, and is given back unless it is kept. shrink reports whether the
// table must be looked at again.
func (t *Table) shrink(ticks uint32) (again bool) {
	now := t.shard.space.now
	if len(t.dirty) > 0 {
		return true
	}
	if len(t.chunks) == 0 {
		if now-t.left < ticks {
			return true
		}
		if t.in {
			t.in = false
			t.shard.shrinking.gone++
		}
		if !t.kept {
			t.giveBack()
		}
		return false
	}
	used, had := t.used(), len(t.chunks)
	goes := func(c *Chunk) bool { return !c.reserved && now-c.changed >= ticks }
	for _, c := range slices.Backward(t.chunks[used:]) { // backwards, so that the rows of the first are used again first
		if goes(c) {
			t.shard.space.remove(c)
		} else if !c.reserved {
			again = true
		}
	}
	t.chunks = t.chunks[:used+len(slices.DeleteFunc(t.chunks[used:], goes))]
	if len(t.chunks) == had {
		return again
	}
	t.renumber(1)
	if len(t.chunks) > 0 {
		return again
	}
	t.chunks = nil
	t.left = now
	return true
}

// giveBack makes the shard forget the table.
func (t *Table) giveBack() {
	t.gone = true
	t.edges, t.toggleEdges = nil, nil // otherwise tables that are gone would keep one another in memory
	delete(t.shard.bySet, t.set)
}

// Trim drops the rows that columns keep for later use and have not used since the last Trim. For
// the coordinator, at the end of a refresh.
func (s *Space) Trim() {
	if s.now%shrinkEvery == 0 && s.spare.Load() {
		s.trim(false)
	}
}

// TrimAll drops all rows that columns keep for later use. The world is idle.
func (s *Space) TrimAll() { s.trim(true) }

// trim is Trim or, if all is set, TrimAll.
func (s *Space) trim(all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	some := false
	for _, c := range s.Columns {
		some = c.trim(all) || some
	}
	s.spare.Store(some)
}
