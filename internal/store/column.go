package store

import (
	"hash/maphash"
	"reflect"
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
)

// Column holds every row of one component, chunk by chunk. The rows of a chunk
// are one contiguous []T.
//
// Chunks of tables without the component have no rows here.
//
// Invariants: rows are never reallocated. While a tick runs, an entry of the directory
// that was made is not changed, and every later directory has it.
//
// Ownership: dir and lists are replaced under the space's lock, atomically. An entry's rows
// belong to the shard that owns the chunk; another shard may read them in a tick behind a
// fence. A shard may read an entry of a chunk that another adds in this tick: it learned the
// chunk's number from a slot that was published after the entry was written.
type Column[T any] struct {
	dir      atomic.Pointer[columnDir[T]]
	lists    lists
	world    uint32            // the owner number of the idle world
	views    []*View[T]        // with guards, for the check build
	spare    []part[T]         // what dropped chunks had; under the lock
	held     int               // rows in spare and in the rests of strips; under the lock
	idle     int               // how many of spare, from the first on, were not used since the last trim
	pointers bool              // T holds pointers: vacated rows are cleared
	clone    func(to, from *T) // copies a value for frames; nil: by assignment; set while the world is idle
	watched  bool              // rows that are stored anew are noted; set while the world is idle
	now      *uint32           // the tick in progress
	memory   *mem.Memory
}

// columnDir is the directory of a column. Its slices are equally long and indexed by the
// number of a chunk, which is world-wide:
//
//	rows[number] ──▶ []T
//	own[number] ──▶ { rows[number][0], stamp, the shard that owns the chunk, how many rows }
//	all[number] ──▶ the same, with the number of the idle world as the owner
//	strips[number] ──▶ what the rows are a part of, nil for nothing larger; under the lock
//
// own and all are for look-ups of one row: one comparison shows whether the chunk has the
// component and is in view. No chunk has number 0; there, Low is the number of the last. They are
// as long as the space's list of chunks, whatever chunks have the component, so that a
// look-up of an entity that lacks it stays within. All columns without rows share the same.
type columnDir[T any] struct {
	rows     [][]T
	own, all []Run
	strips   []*strip[T]
}

// lists has the first elements of a directory's lists of Run, for look-ups.
type lists struct{ own, all mem.Address }

// newRuns makes a list of Run without rows.
func newRuns(length int) []Run {
	runs := make([]Run, length)
	runs[0].Low = slots.Loc(length - 1)
	return runs
}

// publish makes d the column's directory.
func (c *Column[T]) publish(d *columnDir[T]) {
	c.dir.Store(d) // the old one stays valid for its readers
	atomic.StorePointer(&c.lists.own, mem.AddressOf(d.own))
	atomic.StorePointer(&c.lists.all, mem.AddressOf(d.all))
}

// AnyColumn is what a table needs of its columns, whatever their type.
type AnyColumn interface {
	// stretch makes the column's directory as long as runs, which has no rows, for a column that
	// has none itself. The space's lock is held.
	stretch(runs []Run)
	// add gives a chunk its rows, zeroed, and returns the address of the first. before is the
	// number of the chunk before it in its table, or 0. If there are neither rows behind
	// that one's nor spare ones, a strip of so many parts is made. The space's lock is held.
	add(number, owner, rows, before, parts int) mem.Address
	// stampBy makes stamp the word that is stamped when a chunk's rows are handed
	// out for writing. The space's lock is held.
	stampBy(number int, stamp *uint32)
	// drop takes a chunk's rows away, and keeps them to use them again. From the given
	// number on they hold zeroes. The space's lock is held, and no system runs.
	drop(number, used int)
	// releaseRests makes those rests of strips spare rows that the last of a table's chunks cannot
	// continue, and reports whether there were some. The space's lock is held.
	releaseRests(chunks []*Chunk) (some bool)
	// trim lets go of the kept rows that were not used since the last trim, or of all kept
	// rows, but not of a strip that is partly in use. It reports whether some are left. The
	// space's lock is held.
	trim(all bool) (some bool)
	// heldBytes is the memory of rows that no chunk has. The space's lock is held.
	heldBytes() uint64
	// dropAll is drop for every chunk, for good. runs is as of stretch.
	dropAll(runs []Run)
	// zero sets the rows from to to, exclusive, of a chunk to zero.
	zero(number, from, to int)
	// copy copies a row.
	copy(to, from slots.Loc)
	// move copies rows, in order.
	move(moves []relocation)
	// wipe forgets the rows from to to, exclusive, of a chunk.
	wipe(number, from, to int)
	// put stores the T at src.
	put(at slots.Loc, src mem.Address)
	// values makes n values. copyValues stores copies of rows of a chunk in some of them, from
	// number at on, and putValues stores some in rows of a chunk of a column of the same type.
	values(n int) mem.Cells
	copyValues(to mem.Cells, at, number, row, n int)
	putValues(number, row int, from mem.Cells, at, n int)
	// layout returns the size of a row, and whether it may be copied as bytes.
	layout() (size uintptr, plain bool)
	// value returns a copy of a row, or nil if the chunk lacks the component.
	value(l slots.Loc) any
	// shift is for the check build: see Space.Shift.
	shift(s *Space)
	// watch sets whether rows that are stored anew are to be noted.
	watch(on bool)
	// digest adds the first rows of a chunk to a hash.
	digest(h *maphash.Hash, number, rows int)

	frozenColumn
}

type relocation struct{ to, from slots.Loc }

// NewColumn makes the column of the next component. The world is idle.
func NewColumn[T any](space *Space) *Column[T] {
	c := &Column[T]{pointers: mem.HasPointers(reflect.TypeFor[T]()), world: uint32(space.Homes() - 1), now: &space.now, memory: &space.Memory}
	c.stretch(space.noRuns)
	space.Columns = append(space.Columns, c)
	return c
}

// At returns the row, or nil if the chunk lacks the component or the row, whoever owns it.
func (c *Column[T]) At(l slots.Loc) *T {
	if rows := c.dir.Load().rows; int(l>>slots.RowBits) < len(rows) {
		if data := rows[l>>slots.RowBits]; int(l&slots.RowMask) < len(data) {
			return &data[l&slots.RowMask]
		}
	}
	return nil
}

// AtWrite is At for writing.
func (c *Column[T]) AtWrite(l slots.Loc) *T {
	p := c.At(l)
	if p != nil {
		*c.dir.Load().own[l>>slots.RowBits].Stamp = *c.now
	}
	return p
}

// Slice returns the component of the rows, or nil if they lack it. It is small
// enough to be inlined.
func (v *View[T]) Slice(r Rows) []T {
	if check.Enabled {
		r.number = v.borrow(r)
	}
	if rows := v.column.dir.Load().rows; uint(r.number) < uint(len(rows)) {
		if data := rows[r.number]; r.to <= len(data) {
			return data[r.from:r.to]
		}
	}
	return nil
}

// View finds the rows of a column for one owner: a shard, which finds only its own rows, or
// the idle world, which finds all.
//
// Ownership: not written after it is made, but for the guard, which is the owner's.
type View[T any] struct {
	Runs   *mem.Address // the column's list of Run for the owner, by the number of a chunk
	Owner  uint32       // of the entries in that list that are in view
	column *Column[T]
	now    *uint32 // the tick in progress
	guard  check.Guard
}

// View returns the view of shard number owner, which finds only its own rows. If owner is the
// number of shards, it is the view of the idle world, which finds all rows.
func (c *Column[T]) View(owner int) View[T] {
	v := View[T]{Runs: &c.lists.own, Owner: uint32(owner) + 1, column: c, now: c.now}
	if v.all() {
		v.Runs = &c.lists.all
	}
	return v
}

// all reports whether the view is of the idle world.
func (v *View[T]) all() bool { return v.Owner == v.column.world+1 }

func (c *Column[T]) add(number, owner, rows, before, parts int) mem.Address {
	d := c.dir.Load()
	if d.rows == nil { // the first rows of all
		c.grow(len(d.own))
		d = c.dir.Load()
	}
	p := c.take(rows, before, parts)
	data := p.rows
	d.rows[number], d.strips[number] = data, p.strip
	low := slots.Loc(number)<<slots.RowBits + slots.Loc(rows) - slots.RowsMax
	d.own[number] = Run{First: mem.AddressOf(data), Low: low, Owner: uint32(owner) + 1}
	d.all[number] = Run{First: mem.AddressOf(data), Low: low, Owner: c.world + 1}
	return mem.AddressOf(data)
}

func (c *Column[T]) stampBy(number int, stamp *uint32) {
	d := c.dir.Load()
	d.own[number].Stamp, d.all[number].Stamp = stamp, stamp
}

func (c *Column[T]) stretch(runs []Run) {
	if d := c.dir.Load(); d == nil || d.rows == nil {
		c.publish(&columnDir[T]{own: runs, all: runs})
	} else {
		c.grow(len(runs))
	}
}

// grow replaces the directory by one of the given length, which is its own.
func (c *Column[T]) grow(length int) {
	old, d := c.dir.Load(), &columnDir[T]{make([][]T, length), newRuns(length), newRuns(length), make([]*strip[T], length)}
	copy(d.rows, old.rows)
	copy(d.own[1:], old.own[1:])
	copy(d.all[1:], old.all[1:])
	copy(d.strips, old.strips)
	c.publish(d)
}

func (c *Column[T]) zero(number, from, to int) {
	clear(c.dir.Load().rows[number][from:to])
}

func (c *Column[T]) copy(to, from slots.Loc) {
	rows := c.dir.Load().rows
	rows[to>>slots.RowBits][to&slots.RowMask] = rows[from>>slots.RowBits][from&slots.RowMask]
}

func (c *Column[T]) move(moves []relocation) {
	rows := c.dir.Load().rows
	for _, m := range moves {
		rows[m.to>>slots.RowBits][m.to&slots.RowMask] = rows[m.from>>slots.RowBits][m.from&slots.RowMask]
	}
}

func (c *Column[T]) wipe(number, from, to int) {
	if c.pointers {
		clear(c.dir.Load().rows[number][from:to])
	} else if check.Enabled {
		c.poison(c.dir.Load().rows[number][from:to])
	}
}

func (c *Column[T]) put(at slots.Loc, src mem.Address) {
	c.dir.Load().rows[at>>slots.RowBits][at&slots.RowMask] = *valueAt[T](src)
}

func (c *Column[T]) values(n int) mem.Cells { return mem.CellsOf(make([]T, n)) }

func (c *Column[T]) copyValues(to mem.Cells, at, number, row, n int) {
	c.copyRows(to.Values.([]T)[at:at+n], c.dir.Load().rows[number][row:row+n])
}

func (c *Column[T]) putValues(number, row int, from mem.Cells, at, n int) {
	copy(c.dir.Load().rows[number][row:row+n], from.Values.([]T)[at:at+n])
}

func (c *Column[T]) value(l slots.Loc) any {
	if p := c.At(l); p != nil {
		return *p
	}
	return nil
}

func (c *Column[T]) layout() (size uintptr, plain bool) {
	return reflect.TypeFor[T]().Size(), !c.pointers
}
