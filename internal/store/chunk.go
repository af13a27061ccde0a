package store

import (
	"fmt"
	"sync/atomic"

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
	framed  bool        // frames may have copies of its rows; see Space.TakeDropped
	touched bool        // it is among the table's dirty chunks
	noted   bool        // it is in a run of the shard's notes for hooks
	hidden  hidden      // which rows other shards must not see yet
	// reserved says that the chunk was made for a Reserve, and no row has left it since.
	reserved bool
}

var handleType = mem.TypeOf[handle.Handle]()

// small is a small chunk and the parts that each chunk needs besides its rows, in one allocation.
type small struct {
	Chunk
	bases   [4]mem.Address
	written [4]uint32
	marks   [1]uint64
}

// While shards run at the same time, what one of them stores is hidden from the others: whether they
// would see it depends on time. Reveal ends that, at a moment when no shard runs. Rows do not move
// while systems or hooks run. So an atom is hidden if its chunk did not have its row at the last
// Reveal, and to create costs nothing more, except for the first row of a table.

// hidden says from which row on a chunk's rows are hidden, and since which Reveal.
//
//	hidden  | number of the Reveal (51 bits) | first row (13 bits) |
//
// Ownership: written by the shard's owner, before it publishes an atom in such a row. Any goroutine
// that saw the atom alive may read it.
type hidden struct{ atomic.Uint64 }

const hiddenShift = slots.RowBits + 1 // the first row may be one behind the last

// newChunk makes an empty chunk of a table, without its rows: Space.add gives it these. The owner
// of the shard calls it.
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

// Number returns the chunk's number in the world.
func (c *Chunk) Number() int { return c.number() }

// Order returns the chunk's position in its table.
func (c *Chunk) Order() int { return c.order }

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

// hide makes the rows that the chunk gets from now on hidden, up to the next Reveal.
func (c *Chunk) hide() {
	if now := c.table.shard.space.reveals.Load(); c.hidden.Load()>>hiddenShift != now {
		c.hidden.Store(now<<hiddenShift | uint64(c.n))
		c.table.shard.Draws()
	}
}

// extend takes the next n rows of a chunk, which has room for them. The caller places the
// atoms.
func (c *Chunk) extend(n int) (handles []handle.Handle) {
	from := c.n
	c.n += n
	c.changed = c.table.shard.space.now
	return c.handles[from:c.n]
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

// Handles returns the handles of the atoms, by row. Nobody may write to them.
func (c *Chunk) Handles() []handle.Handle { return c.handles[:c.n:c.n] }

// Column returns the address of the rows of the i-th component of the chunk's table.
func (c *Chunk) Column(i int) mem.Address { return c.bases[i] }

// Stamps returns the tick in which a row last came or was replaced, and for each
// component that in which it was last handed out for writing.
func (c *Chunk) Stamps() (changed uint32, written []uint32) { return c.changed, c.written }

// Marks returns which rows are marked, a bit for each, or nil for none.
func (c *Chunk) Marks() []uint64 {
	if c.marked == 0 {
		return nil
	}
	return c.marks
}

// Flagged returns which rows have a flag, a bit for each, or nil for none.
func (c *Chunk) Flagged(flag int) []uint64 {
	if c.flags.none() {
		return nil
	}
	return c.flags.sets[flag]
}

// FlagsAt returns the flags of a row.
func (c *Chunk) FlagsAt(row int) slots.Flags { return c.flagsAt(row) }

// Unmatched returns which of 64 rows do not match, from row 64·word on.
func (c *Chunk) Unmatched(f *Filter, word int) uint64 { return c.unmatched(f, word) }

// Rows is a view of a run of rows of a chunk. It is good until rows move: at the refresh, or on an
// idle world when components are added or removed. The check build panics when it is used after
// that.
//
// Ownership: the shard's owner.
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

// Loc returns where the atom in row i is. It panics if there is no such row. It is small
// enough to be inlined.
func (r Rows) Loc(i int) slots.Loc {
	if check.Enabled {
		r.mustBeGood()
	}
	if uint(i) >= uint(r.to-r.from) {
		panic("world: Chunk.Loc of a row that the Chunk does not have; the rows are 0 to Len()-1")
	}
	return r.chunk.base + slots.Loc(r.from+i)
}

// Cap returns the number of rows that the chunk of this run can hold.
func (r Rows) Cap() int {
	if check.Enabled {
		r.mustBeGood()
	}
	return r.chunk.Cap()
}

// Contains reports whether the atom of h is in one of the rows. It looks up one entity, however
// many rows there are.
func (r Rows) Contains(h handle.Handle) bool {
	if check.Enabled {
		r.mustBeGood()
	}
	l := r.chunk.table.shard.space.Locate(h)
	return l>>slots.RowBits == r.chunk.base>>slots.RowBits && l.Row() >= r.from && l.Row() < r.to
}

// Atom returns the atom in row i.
func (r Rows) Atom(i int) Atom {
	return Atom{Handle: r.Handle(i), Chunk: r.chunk, Row: r.from + i}
}

// SetFlags gives flags to the atom in row i, which has none, and publishes them. Owner of the shard
// only.
func (r Rows) SetFlags(i int, f slots.Flags) {
	r.chunk.setFlags(r.from+i, f)
	r.chunk.table.shard.space.PublishFlags(r.Handle(i), f)
}

// wipes reports whether columns of the table must forget the values of removed rows.
func (t *Table) wipes() bool { return t.pointers || check.Enabled }

// wipe makes the columns forget what the rows [from, to) held: their atoms were destroyed, or are in
// other rows now. A refresh calls it when it applies requests and when it compacts. Callers ask
// Table.wipes first.
func (c *Chunk) wipe(from, to int) {
	for _, col := range c.table.columns {
		col.wipe(c.number(), from, to)
	}
}

// clear sets all components of the rows [from, to) to zero.
func (c *Chunk) clear(from, to int) {
	for i := range c.table.columns {
		c.zero(i, from, to)
	}
}

// zero is clear for one column.
func (c *Chunk) zero(column, from, to int) {
	if t := c.table; t.plain[column] {
		zeroPlain(c.bases[column], from, to, t.sizes[column])
	} else {
		t.columns[column].zero(c.number(), from, to)
	}
}

// Atom is a row that was just taken, before its components are stored. It has four fields because
// the compiler keeps no more than that in registers: with a fifth, each use copied the Atom in
// memory, right after the stores that had made it.
//
// Ownership: the shard's owner.
type Atom struct {
	Handle     handle.Handle
	Chunk      *Chunk
	Row        int
	generation uint32 // of the slot when it is published
}

// Loc returns where the atom is.
func (a Atom) Loc() slots.Loc { return a.Chunk.base + slots.Loc(a.Row) }

// Publish makes the atom alive to all goroutines. The owner of the shard calls it, once, when the
// components are stored.
func (a Atom) Publish() {
	slot := a.Chunk.table.shard.space.Slot(a.Handle)
	slot.Loc = a.Loc()
	slot.Store(a.generation) // publishes loc and the row
}

// mustBeGood panics if rows may have moved since the view was made. Only the check build calls it.
func (r Rows) mustBeGood() {
	if r.number>>slots.ChunkBits != r.chunk.table.shard.space.viewEpoch {
		panic(fmt.Sprintf("world: a Chunk of %d rows on shard %d is used after the refresh, or the change of an idle world, that ended it; ask the query for its Chunks again",
			r.to-r.from, r.chunk.table.shard.id))
	}
}
