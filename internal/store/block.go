package store

import (
	"slices"
	"sync"

	"github.com/atoll-sim/atoll/internal/mem"
)

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

// newStrip makes a strip for chunks of so many rows, of at most so many parts.
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

// forget makes the column forget a block, of which no chunk has a part.
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
// time.
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

// unwant takes back what was said of a strip: its table goes on elsewhere, or not at all.
func (c *Column) unwant(s *strip) {
	c.blocks.wanted = max(0, c.blocks.wanted-s.wants)
	s.block.wants -= s.wants
	s.wants = 0
}

// reserve allocates the block if nobody has done that, and returns the address of its first row.
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
