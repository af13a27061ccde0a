package store

import (
	"slices"
	"sync"

	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/mem"
)

// strip is the memory of one column for several chunks of the largest size, which follow one
// another in their table:
//
//	chunks  [4096 rows][4096 rows]
//	strip   └─ part ──┴─ part ──┴─── rest ───┘
//
// So the addresses that a loop reads in each column have few jumps, which processors handle best.
// Memory of the rest is not touched before it becomes a part. A part that a chunk has dropped is
// kept for later use until all parts of the block are free. So is a rest when chunks of another
// table come between.
//
// Ownership: under the space's lock.
type strip struct {
	rest  mem.Address // not used by a chunk yet; for the chunk after the one that has the last part
	left  int         // rows in rest
	len   int         // rows of the strip
	wants int         // rows of the strip after it that its table will soon need, while that is not there
	block *block
}

// part is the rows of one chunk, and the strip that they are a part of, or nil.
type part struct {
	rows  mem.Address
	len   int
	strip *strip
}

const (
	// stripPartsFirst and stripPartsMax are the smallest and the largest number of parts of a strip.
	stripPartsFirst, stripPartsMax = 3, 16
	// stripBytesMax is the most memory that the strips of a table take at a time, in all of its
	// columns, unless one chunk takes more.
	stripBytesMax = 2 << 20
)

// stripPlan says how a table grows, for the strips of its columns.
type stripPlan struct {
	parts int // of a new strip; 0: the chunk is in none
	has   int // the table's largest chunks, up to stripPartsMax
	most  int // of the strip after the present one, at most
}

// stripPlan plans a strip whose first part is for a chunk of so many rows at the end of the table,
// which is known to need room for some rows; 0: for one. Only the largest chunks are in strips,
// from the table's second on. Strips grow with the table, so that the rest is no larger than what
// the table has or is known to need.
func (t *Table) stripPlan(rows, needs int) (p stripPlan) {
	if rows < t.growth.RowsMax {
		return p
	}
	for p.has < min(stripPartsMax, len(t.chunks)) && t.chunks[len(t.chunks)-1-p.has].Cap() == rows {
		p.has++
	}
	if p.has == 0 && needs <= rows {
		return p
	}
	p.parts, p.most = t.limitParts(max(p.has, stripPartsFirst, needs/rows), rows), t.limitParts(stripPartsMax, rows)
	if needs > 0 {
		p.most = max(0, min(p.most, needs/rows-p.parts))
	}
	return p
}

// limitParts returns n, or less if strips of n parts take too much memory.
func (t *Table) limitParts(n, rows int) int {
	return max(1, min(n, stripPartsMax, stripBytesMax/max(1, rows*int(t.rowBytes))))
}

// take returns zeroed rows for a chunk: those after the rows of the chunk before it, spare ones, or
// the first part of a new strip. The newest spare rows are used first. The space's lock is held.
func (c *Column) take(rows, before int, plan stripPlan) part {
	if s := c.dir.Load().strips[before]; s != nil {
		if s.left >= rows {
			half := s.left > s.len/2
			p := c.cut(s, rows)
			if half && s.left <= s.len/2 {
				c.prepare(s, rows, min(plan.has+1+s.left/rows, plan.most))
			}
			return p
		}
		c.unwant(s)
	}
	for i := len(c.spare) - 1; i >= 0; i-- {
		p := c.spare[i]
		if p.len != rows {
			continue
		}
		c.spare = slices.Delete(c.spare, i, i+1)
		c.held -= rows
		if i < c.idle {
			c.idle--
		}
		if check.Enabled {
			c.of.Clear(p.rows, rows) // they were poisoned
		}
		return p
	}
	if plan.parts == 0 {
		return part{rows: c.newRows(rows), len: rows}
	}
	return c.cut(c.newStrip(rows, plan.parts), rows)
}

// cut makes the first rows of a strip's rest a part. The space's lock is held.
func (c *Column) cut(s *strip, rows int) part {
	p := part{s.rest, rows, s}
	s.rest, s.left = c.behind(s.rest, rows, s.left)
	s.block.parts++
	s.block.free -= rows
	c.held -= rows
	return p
}

// behind returns what is left of some rows when the first n are taken. An address behind the last
// row would keep the memory there from the collector.
func (c *Column) behind(rows mem.Address, n, of int) (rest mem.Address, left int) {
	if n == of {
		return nil, 0
	}
	return c.of.At(rows, n), of - n
}

// releaseRests makes spare parts of the rests that no chunk of the table can continue, because the
// chunk after the one with the last part belongs to another table, or the one with the last part
// does. The idle world calls it, after a Retag.
func (t *Table) releaseRests() {
	if len(t.chunks) < 2 {
		return
	}
	s := t.shard.space
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, col := range t.columns {
		if col.releaseRests(t.chunks) {
			s.spare.Store(true)
		}
	}
}

// releaseRests makes spare rows of the rests that the last of a table's chunks cannot continue, and
// reports whether there were some. The space's lock is held.
func (c *Column) releaseRests(chunks []*Chunk) (some bool) {
	strips := c.dir.Load().strips
	last := len(chunks) - 1
	for _, x := range chunks[:last] {
		s := strips[x.number()]
		if s == nil || s.left == 0 || s == strips[chunks[last].number()] {
			continue
		}
		for at := s.left - x.Cap(); at >= 0; at -= x.Cap() { // backwards: the first is used first
			c.spare = append(c.spare, part{c.of.At(s.rest, at), x.Cap(), s})
			s.block.parts++
		}
		s.block.free -= s.left
		s.rest, s.left, some = nil, 0, true
		c.unwant(s)
	}
	return some
}

// newRows returns rows that are not a part of a strip. They are not touched.
func (c *Column) newRows(n int) mem.Address {
	return c.memory.Reserve(c.of, n+stagger(n*int(c.of.Size)))
}

// stagger returns how many extra rows to allocate for a run of so many bytes. Allocations of a
// power of two all begin at the same offset in their memory pages. So, when they are not full, they
// compete for the same few sets of the processor's cache. One extra row puts them in a size class
// that does not.
func stagger(bytes int) int {
	if bytes >= 2048 && bytes < 32768 && bytes%2048 == 0 {
		return 1
	}
	return 0
}

// drop takes a chunk's rows away, and keeps them for later use. From row used on they hold zeroes.
// The space's lock is held, and no system runs.
func (c *Column) drop(number, used int) {
	d := c.dir.Load()
	p := part{d.rows[number].first, d.rows[number].len, d.strips[number]}
	if check.Enabled {
		c.poison(p.rows, p.len)
	} else {
		c.of.Clear(p.rows, used)
	}
	c.spare = append(c.spare, p)
	c.held += p.len
	d.rows[number], d.own[number], d.all[number], d.strips[number] = rowList{}, Run{}, Run{}, nil
}

// replace gives a chunk other rows, which are not part of a strip. For the check build, between
// ticks: see Space.Shift. The caller then tells the chunk its new bases. The space's lock is held.
func (c *Column) replace(number int, rows mem.Address) {
	d := c.dir.Load()
	d.rows[number].first, d.own[number].First, d.all[number].First = rows, rows, rows
	if s := d.strips[number]; s != nil {
		if s.block.parts--; s.block.parts == 0 {
			c.forget(s.block)
		}
		d.strips[number] = nil
	}
}

// trim drops the kept rows that were not used since the last trim, or all kept rows, but never a
// block that is partly in use. It reports whether some are left. The space's lock is held.
func (c *Column) trim(all bool) (some bool) {
	if all {
		c.idle = len(c.spare)
	}
	for _, p := range c.spare[:c.idle] {
		if p.strip != nil {
			p.strip.block.idle++
		}
	}
	left := c.spare[:0]
	for i, p := range c.spare {
		if i >= c.idle || p.strip != nil && p.strip.block.idle < p.strip.block.parts {
			left = append(left, p)
			continue
		}
		c.held -= p.len
		if p.strip != nil {
			c.forget(p.strip.block)
		}
	}
	clear(c.spare[len(left):])
	c.spare, c.idle = left, len(left)
	for _, p := range left {
		if p.strip != nil {
			p.strip.block.idle = 0
		}
	}
	return c.trimNext(all) || c.idle > 0
}

// heldBytes is the memory of rows that no chunk has. The space's lock is held.
func (c *Column) heldBytes() uint64 { return uint64(c.held) * uint64(c.of.Size) }

// block is the memory of one column for strips of any tables, one allocation:
//
//	strips  [part][part]    rest of the strip ][part][part]
//	block   └─────────────── strip ───────────┴── strip ───┴───── rest ─────┘
//
// A loop that reads several columns is slower if they are close together in memory: by a tenth, at
// a million entities, if strips of 1 MB of two columns alternate. The collector frees a block as a
// whole.
//
// Ownership: under the space's lock.
type block struct {
	rest  mem.Address // in no strip yet
	left  int         // rows in rest
	len   int         // rows of the block
	free  int         // rows that are no part: in rest, and in the rests of strips
	parts int         // how many parts chunks have, or are spare
	wants int         // the sum of what its strips want
	idle  int         // spare parts that were not used since the last trim; scratch of trim
}

// blocks is the block of a column that strips are made of, and what it knows about the others.
type blocks struct {
	last   *block       // nil for none
	next   []*nextBlock // the blocks after it, in order
	rows   int          // of all blocks that are in use
	wanted int          // the sum of what strips want, but for what was dropped unused
}

// blockBytesMax is the largest size of a block, unless one strip takes more.
const blockBytesMax = 2 << 20

// newStrip makes a strip for chunks of so many rows, of at most so many parts. The space's lock is
// held.
func (c *Column) newStrip(rows, parts int) *strip {
	b := c.blocks.last
	if b == nil || b.left < rows {
		b = c.newBlock(rows, parts)
	}
	n := min(parts, b.left/rows) * rows
	s := &strip{rest: b.rest, left: n, len: n, block: b}
	b.rest, b.left = c.behind(b.rest, n, b.left)
	return s
}

// newBlock makes a block the last, for a strip of so many parts, or fewer. If none was prepared it
// has room for just that strip, so that the create that needs it waits no longer than necessary.
// The space's lock is held.
func (c *Column) newBlock(rows, parts int) *block {
	x := &c.blocks
	b := &block{len: rows * parts}
	if len(x.next) > 0 {
		next := x.next[0]
		x.next = slices.Delete(x.next, 0, 1)
		c.held -= next.rows
		if next.rows >= rows {
			b.len, b.rest = next.rows, next.reserve(c)
		}
	}
	if b.rest == nil {
		b.rest = c.reserveBlock(b.len)
	}
	b.left, b.free = b.len, b.len
	c.held += b.len
	x.rows += b.len
	x.last = b
	return b
}

// blockRows returns the number of rows of a block that is prepared, which has room for so many
// parts. Blocks double until they are as large as they get, so that the rest of the last is no
// larger than what the column has.
func (c *Column) blockRows(rows, parts int) int {
	return rows * max(parts, min(c.blocks.rows, blockBytesMax/max(1, int(c.of.Size)))/rows)
}

// reserveBlock allocates n rows. Large allocations all begin at the same offset in their memory
// pages. So the rows that a loop reads at the same time in several columns would compete for the
// same few sets of the processor's cache. Each column's blocks begin at another offset.
func (c *Column) reserveBlock(n int) mem.Address {
	skew := c.id % 16 * skewBytes / max(1, int(c.of.Size))
	return c.of.At(c.memory.Reserve(c.of, n+skew), skew)
}

// skewBytes is how much the offsets of two columns differ: some lines of the cache, and not a power
// of two.
const skewBytes = 17 * 64

// forget makes the column forget a block, of which no chunk has a part. The space's lock is held.
func (c *Column) forget(b *block) {
	c.held -= b.free
	c.blocks.rows -= b.len
	c.blocks.wanted = max(0, c.blocks.wanted-b.wants)
	if c.blocks.last == b {
		c.blocks.last = nil
	}
	*b = block{} // so that its other parts do not count it again
}

// nextBlock is the memory of a block that tables will soon need. A goroutine allocates it: the
// collector may ask for work in return, and memory that was used before must be cleared, and both
// take too long for a single create. The goroutine does nothing else. If it comes too late, whoever
// needs the block allocates it.
//
// Ownership: rows and old under the space's lock; at is written once.
type nextBlock struct {
	once sync.Once
	at   mem.Address
	rows int
	old  bool // it was there at the last trim
}

// nextBytesMin is the size from which on a block is allocated ahead.
const nextBytesMin = 64 << 10

// prepare says that the table that has a strip will soon need one of so many parts. Tables say so
// when half of a strip is used, because several shards often come to the ends of theirs at the same
// time. The space's lock is held. A goroutine allocates the block meanwhile.
func (c *Column) prepare(s *strip, rows, parts int) {
	x := &c.blocks
	s.wants = rows * parts
	s.block.wants += s.wants
	x.wanted += s.wants
	there := 0
	if x.last != nil {
		there = x.last.left
	}
	for _, next := range x.next {
		there += next.rows
	}
	for there < x.wanted {
		n := c.blockRows(rows, parts)
		if n*int(c.of.Size) < nextBytesMin {
			return
		}
		next := &nextBlock{rows: n}
		x.next = append(x.next, next)
		there += n
		c.held += n
		c.space.spare.Store(true)
		go next.reserve(c)
	}
}

// unwant takes back what was said of a strip: its table goes on elsewhere, or not at all. The
// space's lock is held.
func (c *Column) unwant(s *strip) {
	c.blocks.wanted = max(0, c.blocks.wanted-s.wants)
	s.block.wants -= s.wants
	s.wants = 0
}

// reserve allocates the block if nobody has done that, and returns the address of its first row.
// Callers are the goroutine that prepare has started, and the shard that needs the block if it
// comes first.
func (n *nextBlock) reserve(c *Column) mem.Address {
	n.once.Do(func() { n.at = c.reserveBlock(n.rows) })
	return n.at
}

// trimNext drops the next blocks that were there at the last trim, or all, and reports whether some
// are left. The space's lock is held.
func (c *Column) trimNext(all bool) bool {
	x := &c.blocks
	x.next = slices.DeleteFunc(x.next, func(next *nextBlock) bool {
		if next.old || all {
			c.held -= next.rows
			x.wanted = 0
			return true
		}
		next.old = true
		return false
	})
	return len(x.next) > 0
}
