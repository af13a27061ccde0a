package store

import (
	"reflect"
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
)

// Column holds every row of one component, chunk by chunk. The rows of a chunk are one contiguous
// []T. The code of a column depends on T only through of, so that the compiler need not compile it
// for each component.
//
// Chunks of tables without the component have no rows here.
//
// Invariants: rows are never reallocated, except by the check build between ticks; see shift. While
// a tick runs, an existing entry of the directory is not changed, and every later directory has it.
//
// Ownership: dir and lists are replaced under the space's lock, atomically. An entry's rows belong
// to the shard that owns the chunk; in a tick another shard may read them behind a fence. A shard
// may read the entry of a chunk that another shard adds in this tick: it knows the chunk's number
// from a slot that was published after the entry was written.
type Column struct {
	dir     atomic.Pointer[columnDir]
	lists   lists
	of      *mem.Type
	world   uint32                     // the owner number of the idle world
	views   []*View                    // with guards, for the check build
	spare   []part                     // the rows of dropped chunks; under the lock
	held    int                        // rows in spare and in the rests of strips and blocks; under the lock
	idle    int                        // how many of spare, counted from the first, were not used since the last trim
	clone   func(to, from mem.Address) // copies a value for frames; nil: by assignment; set while the world is idle
	watched bool                       // replaced rows are recorded; set while the world is idle
	now     *uint32                    // the tick in progress
	space   *Space
	memory  *mem.Memory
	id      int    // the component's number
	blocks  blocks // under the lock
}

// columnDir is the directory of a column. Its slices are equally long and indexed by the number of
// a chunk, which is unique in the world:
//
//	rows[number] ──▶ []T
//	own[number] ──▶ { rows[number][0], stamp, the shard that owns the chunk, how many rows }
//	all[number] ──▶ the same, with the number of the idle world as the owner
//	strips[number] ──▶ the strip that the rows are a part of, or nil; under the lock
//
// own and all are for look-ups of one row: one comparison shows whether the chunk has the component
// and is in view. No chunk has number 0; there, Low is the number of the last. The slices are as
// long as the space's list of chunks, even if few chunks have the component. So a look-up of an
// entity that lacks it stays within them. All columns without rows share the same.
type columnDir struct {
	rows     []rowList
	own, all []Run
	strips   []*strip
}

// rowList is some rows, laid out as the compiler lays out a []T. Slice depends on that.
type rowList struct {
	first    mem.Address
	len, cap int
}

// listOf makes the rowList of n rows.
func listOf(first mem.Address, n int) rowList { return rowList{first, n, n} }

// lists has the addresses of a directory's lists of Run, for look-ups.
type lists struct{ own, all mem.Address }

// This file holds the code that runs for every entity and uses unsafe: looking up, and storing the
// fields of a new atom. The gain was measured: a random access takes a quarter fewer instructions.

// Run is what a view needs to know about a chunk to look up a row. The zero Run has no rows.
type Run struct {
	First mem.Address
	Stamp *uint32   // the tick in which the rows were last handed out for writing
	Low   slots.Loc // the location of the last row, less RowsMax-1
	Owner uint32    // 1 more than the number of the shard, or of the idle world; 0 for none
	// Written is Owner if the owner's views have stamped and noted the chunk, see View.note;
	// otherwise 0. A list that is replaced may lose it.
	Written uint32
}

// newRuns makes a list of Run without rows.
func newRuns(length int) []Run {
	runs := make([]Run, length)
	runs[0].Low = slots.Loc(length - 1)
	return runs
}

// publish makes d the column's directory, for all goroutines. The space's lock is held, or nobody
// reads the column yet.
func (c *Column) publish(d *columnDir) {
	c.dir.Store(d) // readers may still use the old one
	atomic.StorePointer(&c.lists.own, mem.AddressOf(d.own))
	atomic.StorePointer(&c.lists.all, mem.AddressOf(d.all))
}

// relocation moves n rows that follow one another in a chunk.
type relocation struct {
	to, from slots.Loc
	n        int32
}

// NewColumn makes the column of the next component, for values of a type. The world is idle.
func NewColumn(space *Space, of *mem.Type) *Column {
	c := &Column{of: of, world: uint32(space.Shards()), now: &space.now, space: space, memory: &space.Memory, id: len(space.Columns)}
	c.stretch(space.noRuns)
	space.Columns = append(space.Columns, c)
	return c
}

// At returns the address of a row, or nil if the chunk lacks the component or the row. Any shard
// may own it.
func (c *Column) At(l slots.Loc) mem.Address {
	if rows := c.dir.Load().rows; int(l>>slots.RowBits) < len(rows) {
		if data := &rows[l>>slots.RowBits]; int(l&slots.RowMask) < data.len {
			return c.of.At(data.first, int(l&slots.RowMask))
		}
	}
	return nil
}

// AtWrite is At for writing. The caller must own the row.
func (c *Column) AtWrite(l slots.Loc) mem.Address {
	p := c.At(l)
	if p != nil {
		*c.dir.Load().own[l>>slots.RowBits].Stamp = *c.now
	}
	return p
}

// Store stores a copy of a value in the row. The owner of the row calls it. It returns false, and
// has stored nothing, if the chunk lacks the component.
func (c *Column) Store(l slots.Loc, v mem.Address) bool {
	p := c.AtWrite(l)
	if p == nil {
		return false
	}
	c.of.Copy(p, v, 1)
	return true
}

// row returns the address of a row that the chunk has.
func (c *Column) row(number, row int) mem.Address {
	return c.of.At(c.dir.Load().rows[number].first, row)
}

// Type returns the type of the values.
func (c *Column) Type() *mem.Type { return c.of }

// Lend copies a component as an assignment does. The chunk must have it.
func (c *Column) Lend(to mem.Address, l slots.Loc) { c.of.Copy(to, c.rowAt(l), 1) }

// rowAt returns the address of the row at a location. The chunk must have the component.
func (c *Column) rowAt(l slots.Loc) mem.Address { return c.row(int(l>>slots.RowBits), l.Row()) }

// View finds the rows of a column for one owner: a shard, which finds only its own rows, or the
// idle world, which finds all.
//
// Ownership: not written after it is made, except for the guard, which belongs to the owner.
type View struct {
	Runs   *mem.Address // the column's list of Run for the owner, by the number of a chunk
	Owner  uint32       // of the entries in that list that the view may see
	column *Column
	Now    *uint32 // the tick in progress
	guard  check.Guard
}

// View returns the view of shard number owner, which finds only its own rows. If owner is the
// number of shards, it is the view of the idle world, which finds all rows.
func (c *Column) View(owner int) View {
	v := View{Runs: &c.lists.own, Owner: uint32(owner) + 1, column: c, Now: c.now}
	if v.all() {
		v.Runs = &c.lists.all
	}
	return v
}

// all reports whether the view is of the idle world.
func (v *View) all() bool { return v.Owner == v.column.world+1 }

// add gives a chunk its rows, zeroed, and returns the address of the first. before is the number of
// the chunk before it in its table, or 0. If there are no rows after that chunk's, and no spare
// ones, add makes a strip as planned. The rows are not touched. The space's lock is held.
func (c *Column) add(number, owner, rows, before int, plan stripPlan) mem.Address {
	d := c.dir.Load()
	if d.rows == nil { // the first rows of the column
		c.grow(len(d.own))
		d = c.dir.Load()
	}
	p := c.take(rows, before, plan)
	d.rows[number], d.strips[number] = listOf(p.rows, p.len), p.strip
	low := slots.Loc(number)<<slots.RowBits + slots.Loc(rows) - slots.RowsMax
	d.own[number] = Run{First: p.rows, Low: low, Owner: uint32(owner) + 1}
	d.all[number] = Run{First: p.rows, Low: low, Owner: c.world + 1}
	return p.rows
}

// stampBy sets the word that is stamped when a chunk's rows are handed out for writing. The space's
// lock is held.
func (c *Column) stampBy(number int, stamp *uint32) {
	d := c.dir.Load()
	d.own[number].Stamp, d.all[number].Stamp = stamp, stamp
}

// stretch makes the directory of a column without rows as long as runs, which has no rows either.
// The space's lock is held.
func (c *Column) stretch(runs []Run) {
	if d := c.dir.Load(); d == nil || d.rows == nil {
		c.publish(&columnDir{own: runs, all: runs})
	} else {
		c.grow(len(runs))
	}
}

// grow replaces the directory by one of the given length, which the column does not share. The
// space's lock is held. Goroutines that have the old directory may still use it.
func (c *Column) grow(length int) {
	old, d := c.dir.Load(), &columnDir{make([]rowList, length), newRuns(length), newRuns(length), make([]*strip, length)}
	copy(d.rows, old.rows)
	copyRuns(d.own, old.own)
	copyRuns(d.all, old.all)
	copy(d.strips, old.strips)
	c.publish(d)
}

// copyRuns copies the entries of all chunks, but not their Written, which the owners may be
// writing: they will note once more.
func copyRuns(to, from []Run) {
	for i := 1; i < len(from); i++ {
		f := &from[i]
		to[i] = Run{First: f.First, Stamp: f.Stamp, Low: f.Low, Owner: f.Owner}
	}
}

// zero sets the rows of a chunk from row from on, up to row to, exclusive, to zero.
func (c *Column) zero(number, from, to int) { c.of.Clear(c.row(number, from), to-from) }

// copy copies a row.
func (c *Column) copy(to, from slots.Loc) { c.of.Copy(c.rowAt(to), c.rowAt(from), 1) }

// move copies rows, in order. The owner of the rows to be written calls it.
func (c *Column) move(moves []relocation) {
	rows := c.dir.Load().rows
	if c.of.Plain {
		movePlain(rows, moves, c.of.Size)
		return
	}
	for _, m := range moves {
		to, from := rows[m.to>>slots.RowBits].first, rows[m.from>>slots.RowBits].first
		for i := range int(m.n) {
			c.of.Assign(c.of.At(to, m.to.Row()+i), c.of.At(from, m.from.Row()+i))
		}
	}
}

// wipe forgets the values in rows of a chunk; which ones as for zero.
func (c *Column) wipe(number, from, to int) {
	if !c.of.Plain {
		c.zero(number, from, to)
	} else if check.Enabled {
		c.poison(c.row(number, from), to-from)
	}
}

// copyValues copies rows of a chunk into some values, from index at on.
func (c *Column) copyValues(to mem.Cells, at, number, row, n int) {
	c.copyRows(to.Slice(at, n).First(), c.row(number, row), n)
}

// putValues stores some of the values, from index at on, in rows of a chunk.
func (c *Column) putValues(number, row int, from mem.Cells, at, n int) {
	c.of.Copy(c.row(number, row), from.Slice(at, n).First(), n)
}

// value returns a copy of a row, or nil if the chunk lacks the component.
func (c *Column) value(l slots.Loc) any {
	p := c.At(l)
	if p == nil {
		return nil
	}
	if c.clone == nil {
		return c.of.Value(p)
	}
	v := reflect.New(c.of.Of)
	c.clone(v.UnsafePointer(), p)
	return v.Elem().Interface()
}

// ValueAt returns a copy of a component of the atom at l, or nil if it lacks it. The
// caller may read the row.
func ValueAt(c *Column, l slots.Loc) any { return c.value(l) }

// Watched reports whether the caller must call NoteStored for each row whose value it replaces.
func (c *Column) Watched() bool { return c.watched }

// CloneBy sets how values are copied for frames. The world is idle.
func (c *Column) CloneBy(f func(to, from mem.Address)) { c.clone = f }

// CopyOut copies a value of the column to somewhere else, by the function of CloneBy if there is
// one. The owner of the row calls it.
func (c *Column) CopyOut(to, from mem.Address) { c.copyRows(to, from, 1) }

// copyRows copies n values, by the function of CloneBy if there is one, which is the user's, and
// otherwise by assignment. Any goroutine that may read the values calls it.
func (c *Column) copyRows(to, from mem.Address, n int) {
	if c.clone == nil {
		c.of.Copy(to, from, n)
		return
	}
	for i := range n {
		c.clone(c.of.At(to, i), c.of.At(from, i))
	}
}

// dropAll is drop for every chunk, for good. runs is as for stretch. The space's lock is held, and
// the world is closing.
func (c *Column) dropAll(runs []Run) {
	c.publish(&columnDir{own: runs, all: runs})
	c.spare, c.held = nil, 0
}

// The first time in a tick that a view hands out rows of a chunk for writing, it stamps the chunk's
// column with the tick, and notes that in the Run: Written becomes the owner. From then on one
// comparison with Written is both the check that the rows are in view and the proof that they are
// stamped. SetTick forgets the notes, and so does Handed for the idle world, so that the next
// hand-out is noticed again.

// write is a chunk's column that a view has handed out for writing.
type write struct {
	column *Column
	number int
}

// writes are what one owner has written since it was last forgotten.
//
// Ownership: the owner of the views; the coordinator between ticks.
type writes struct {
	all []write
	any bool     // rows were handed out; for the idle world
	_   [32]byte // other owners write their own
}

// Note stamps and notes the chunk that l is in, whose rows are handed out for writing. The owner of
// the view calls it.
func (v *View) Note(l slots.Loc) { v.note(int(l >> slots.RowBits)) }

// NoteRows is Note for the chunk of some rows.
func (v *View) NoteRows(r Rows) { v.note(r.chunk.number()) }

// note stamps the column in a chunk with the tick in progress. Unless it was noted already, it also
// lists the chunk among what the owner has written.
func (v *View) note(number int) {
	d, s := v.column.dir.Load(), v.column.space
	if s.Refuse != nil && int(v.Owner) == len(s.writes) {
		s.Refuse()
	}
	r := &d.own[number]
	if v.all() {
		r = &d.all[number]
	}
	*r.Stamp = *v.Now
	if r.Written == v.Owner || r.Owner != v.Owner {
		return
	}
	r.Written = v.Owner
	w := &s.writes[v.Owner-1]
	w.all, w.any = append(w.all, write{v.column, number}), true
}

// Handed reports whether views of the idle world, or of a global system, have handed out rows for
// writing since the last call or the beginning of the tick, and forgets it. The idle world or the
// coordinator calls it.
func (s *Space) Handed() bool {
	w := &s.writes[len(s.writes)-1]
	any := w.any
	w.forget(len(s.writes))
	return any
}

// forget makes the owner's next hand-outs stamp again.
func (w *writes) forget(owner int) {
	for _, x := range w.all {
		d := x.column.dir.Load()
		if x.number >= len(d.own) {
			continue // the world has given up its memory
		}
		if owner == int(x.column.world)+1 {
			d.all[x.number].Written = 0
		} else {
			d.own[x.number].Written = 0
		}
	}
	w.all, w.any = w.all[:0], false
}

// This file is for the check build, which finds views and pointers that are used for too long.
// Views of rows carry the view epoch in which they were made. Rows that were handed out move to
// other memory at the refresh, so that an old pointer reads Poison. A release build has none of
// this.

// Poison is the byte with which the check build fills rows that are no longer used,
// if they hold no pointers. Those with pointers are zeroed.
const Poison = 0xDB

// poison makes rows unusable, in the check build: it fills them with Poison, or with zeroes if they
// may hold pointers.
func (c *Column) poison(at mem.Address, n int) {
	if !c.of.Plain {
		c.of.Clear(at, n)
		return
	}
	b := c.of.Bytes(at, n)
	if len(b) == 0 {
		return
	}
	b[0] = Poison
	for n := 1; n < len(b); n *= 2 { // the race detector looks at each write by itself
		copy(b[n:], b[:n])
	}
}

// stampAll makes the chunk's columns stamp the chunk's own words, and stamps them now.
func (c *Chunk) stampAll(now uint32) {
	for i, col := range c.table.columns {
		c.written[i] = now
		col.stampBy(c.number(), &c.written[i])
	}
}

// Cells returns the rows of the i-th component of the chunk's table.
func (c *Chunk) Cells(i int) mem.Cells {
	col := c.table.columns[i]
	return col.of.Cells(col.row(c.number(), 0), c.n)
}

// CellsFrom returns n rows of the i-th component, from a row on, without Bytes and Values. There
// must be so many. It allocates nothing.
func (c *Chunk) CellsFrom(i, row, n int) mem.Cells {
	col := c.table.columns[i]
	return col.of.Run(col.row(c.number(), row), n)
}

// Bytes returns the memory of the rows of the i-th component, whose type has no pointers. It
// allocates nothing.
func (c *Chunk) Bytes(i int) []byte {
	col := c.table.columns[i]
	return col.of.Bytes(col.row(c.number(), 0), c.n)
}

// CopyValues copies n rows of the i-th component, from a row on, to values from index at on. It
// uses the function of CloneBy if there is one, else assignment. Any goroutine that may read the
// rows calls it.
func (c *Chunk) CopyValues(i int, to mem.Cells, at, row, n int) {
	c.table.columns[i].copyValues(to, at, c.number(), row, n)
}

// PutValues stores values, from index at on, in the i-th component of the rows. The owner of the
// shard calls it, on an idle world.
func (r Rows) PutValues(i int, from mem.Cells, at int) {
	r.chunk.table.columns[i].putValues(r.chunk.number(), r.from, from, at, r.Len())
}
