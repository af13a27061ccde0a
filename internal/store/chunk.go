package store

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
)

// Chunk is a run of rows of one table: for each row the handle of its atom, and
// one bit that says whether it is marked. The components are in the columns.
//
// Invariants: rows 0 to n are occupied, without a hole, between refreshes.
// Handles never move in memory.
//
// Ownership: the shard's owner.
type Chunk struct {
	base    slots.Loc
	n       int // occupied rows
	used    int // rows from here on hold zeroes if they are free
	order   int // position in the table
	first   int // how many rows the chunks before it have when they are full
	table   *Table
	handles []handle.Handle // of the rows that are ready; the capacity is the chunk's
	bases   []mem.Address   // row 0 of each of the table's columns
	written []uint32        // by column: the tick in which it was last handed out for writing
	changed uint32          // tick in which a row last came or was replaced
	marks   []uint64
	words   uint64 // which words of marks may be other than 0
	marked  int
	flags   *flagSets   // which rows have flags; nil for none
	notify  *notifySets // sets of rows, while hooks are notified; nil for none
	kept    *kept       // copies for frames; nil for none
	touched bool        // it is among the table's dirty chunks
	noted   bool        // it is in a run of the shard's notes for hooks
	hidden  hidden      // which rows other shards must not see yet
	// reserved says that the chunk was made for a Reserve, and no row has left it since.
	reserved bool
}

// small is a small chunk and the parts that each chunk needs besides its rows, in one allocation.
type small struct {
	Chunk
	bases   [4]mem.Address
	written [4]uint32
	marks   [1]uint64
}

// newChunk makes an empty chunk of a table, without its rows.
func newChunk(t *Table, rows int) *Chunk {
	var c *Chunk
	if n := len(t.ids); n <= len(small{}.bases) && rows <= 64 {
		s := new(small)
		c = &s.Chunk
		c.bases, c.written, c.marks = s.bases[:0], s.written[:n], s.marks[:]
	} else {
		c = &Chunk{bases: make([]mem.Address, 0, n), written: make([]uint32, n), marks: make([]uint64, (rows+63)/64)}
	}
	c.table, c.order = t, len(t.chunks)
	return c
}

// Table returns the table the chunk belongs to.
func (c *Chunk) Table() *Table { return c.table }

// number returns the chunk's number in the world.
func (c *Chunk) number() int { return int(c.base >> slots.RowBits) }

// Rows is a view of a run of rows of a chunk. It is good until rows move: at the refresh, or on an
// idle world when components are added or removed. The check build panics when it is used after
// that.
type Rows struct {
	chunk    *Chunk
	number   int // the chunk's; the check build puts the view epoch above it, see Outdate
	from, to int
}

// rows returns a view of a run of the chunk's rows.
func (c *Chunk) rows(from, to int) Rows {
	number := c.number()
	if check.Enabled {
		number |= c.table.shard.space.viewEpoch << slots.ChunkBits
	}
	return Rows{c, number, from, to}
}

// Run returns a view of the first rows of chunk i, at most left of them.
func (t *Table) Run(i, left int) Rows {
	c := t.chunks[i]
	return c.rows(0, min(left, len(c.handles))) // a chunk that has all of its rows is ready as a whole
}

// Only returns a view of the first left rows if the current chunk has all of them, which is so in a
// small table.
func (t *Table) Only(left int) (r Rows, ok bool) {
	c := t.cur
	if c.order != 0 {
		return Rows{}, false
	}
	return c.rows(0, left), true
}

// Len returns the number of rows.
func (r Rows) Len() int {
	if check.Enabled {
		r.mustBeGood()
	}
	return r.to - r.from
}

// Handle returns the handle of the atom in row i.
func (r Rows) Handle(i int) handle.Handle {
	if check.Enabled {
		r.mustBeGood()
	}
	return r.chunk.handles[r.from:r.to][i]
}

// Handles returns the handles of all rows. They must not be written.
func (r Rows) Handles() []handle.Handle {
	if check.Enabled {
		r.mustBeGood()
	}
	return r.chunk.handles[r.from:r.to:r.to]
}

// Head returns a view of the first n rows. It panics if there are fewer.
func (r Rows) Head(n int) Rows {
	if n < 0 || n > r.to-r.from {
		panic(fmt.Sprintf("world: Chunk.Head of %d rows of a Chunk of %d; ask for 0 to Len()", n, r.to-r.from))
	}
	r.to = r.from + n
	return r
}

// Cap returns the number of rows the chunk can hold.
func (c *Chunk) Cap() int { return cap(c.handles) }

// ready makes the rows up to row n ready to be taken, and some more: it touches their memory. A
// large chunk has its rows made ready in steps, so that no create waits for all of its pages. How
// many rows are ready must decide nothing: no snapshot has it.
func (c *Chunk) ready(n int) {
	from, t := len(c.handles), c.table
	if n <= from {
		return
	}
	to := min((n+t.step-1)&^(t.step-1), c.Cap())
	c.handles = c.handles[:to]
	handleType.TouchPart(mem.AddressOf(c.handles), c.Cap(), from, to)
	for i, col := range t.columns {
		col.of.TouchPart(c.bases[i], c.Cap(), from, to)
	}
}

// isMarked reports whether a row is marked.
func (c *Chunk) isMarked(row int) bool { return c.marked != 0 && c.marks[row/64]>>(row%64)&1 != 0 }

// mark marks a row and reports whether it was not marked yet.
func (c *Chunk) mark(row int) bool {
	w, bit := &c.marks[row/64], uint64(1)<<(row%64)
	if *w&bit != 0 {
		return false
	}
	*w |= bit
	c.words |= 1 << (row / 64)
	c.table.touch(c)
	c.marked++
	return true
}

// unmark takes the mark off a marked row.
func (c *Chunk) unmark(row int) {
	c.marks[row/64] &^= 1 << (row % 64)
	c.marked--
}

// allWords is the value of words if any word of marks may be other than 0.
func (c *Chunk) allWords() uint64 { return ^uint64(0) >> (64 - len(c.marks)) }

// markAll marks every row and returns how many were not marked yet.
func (c *Chunk) markAll() int {
	fresh := c.n - c.marked
	if fresh == 0 {
		return 0
	}
	c.table.touch(c)
	for i := range c.n / 64 {
		c.marks[i] = ^uint64(0)
	}
	if rest := c.n % 64; rest != 0 {
		c.marks[c.n/64] = 1<<rest - 1
	}
	c.words = c.allWords()
	c.marked = c.n
	return fresh
}

// WrittenSince reports whether, ago ticks ago or later, rows of the chunk came or were
// replaced, or one of the components was handed out for writing.
func (r Rows) WrittenSince(ago uint64, components *Set) bool {
	c, now := r.chunk, r.chunk.table.shard.space.now
	if uint64(now-c.changed) <= ago {
		return true
	}
	for i, id := range c.table.ids {
		if components.Has(id) && uint64(now-c.written[i]) <= ago {
			return true
		}
	}
	return false
}
