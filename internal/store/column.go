package store

import (
	"hash/maphash"
	"math/bits"
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
// Ownership: dir is replaced under the space's lock. An entry's rows belong to
// the shard that owns the chunk; another shard may read them in a tick behind a
// fence. views are the mirrors of dir, by the shard they belong to; those of the idle world
// are last.
type Column[T any] struct {
	dir      atomic.Pointer[columnDir[T]]
	views    [][]*View[T]
	changed  bool    // some view is behind dir
	spare    [][]T   // rows that dropped chunks had; under the lock
	idle     int     // how many of spare, from the first on, were not used since the last trim
	pointers bool    // T holds pointers: vacated rows are cleared
	watched  bool    // rows that are stored anew are noted; set while the world is idle
	now      *uint32 // the tick in progress
	memory   *mem.Memory
}

// columnDir is the directory of a column. Its slices are equally long, a power of two,
// and indexed by the number of a chunk, which is world-wide:
//
//	rows[number] ──▶ []T
//	stamps[number] ──▶ the tick in which the rows were last handed out for writing
//	runs[number] ──▶ { rows[number][0], where they end, owner }
//
// runs is for look-ups of one row: a cache line holds the entries of four chunks.
type columnDir[T any] struct {
	rows   [][]T
	stamps []*uint32
	runs   []run
}

// firstChunks is the length of a new directory, a power of two; see View.At.
const firstChunks = 8

func newColumnDir[T any](length int) *columnDir[T] {
	d := &columnDir[T]{make([][]T, length), make([]*uint32, length), make([]run, length)}
	d.runs[0].low = 2 * slots.RowsMax // so that no location that leads to number 0 is in its run
	return d
}

// AnyColumn is what a table needs of its columns, whatever their type.
type AnyColumn interface {
	// add gives a chunk its rows, zeroed, and returns the address of the first.
	// The space's lock is held; idle says whether the world is.
	add(number, owner, rows int, idle bool) mem.Address
	// stampBy makes stamp the word that is stamped when a chunk's rows are handed
	// out for writing. The space's lock is held.
	stampBy(number int, stamp *uint32)
	// drop takes a chunk's rows away, and may keep them to use them again. The space's
	// lock is held, and no system runs.
	drop(number int, keep bool)
	// trim lets go of the kept rows that were not used since the last trim, or of all kept
	// rows. It reports whether some are left. The space's lock is held.
	trim(all bool) (some bool)
	// dropAll is drop for every chunk, for good.
	dropAll()
	// zero sets the rows from to to, exclusive, of a chunk to zero.
	zero(number, from, to int)
	// sync brings all views up to date. No one else may be using them.
	sync()
	// copy copies a row.
	copy(to, from slots.Loc)
	// move copies rows, in order.
	move(moves []relocation)
	// wipe forgets the rows from to to, exclusive, of a chunk.
	wipe(number, from, to int)
	// put stores the T at src.
	put(at slots.Loc, src mem.Address)
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
}

type relocation struct{ to, from slots.Loc }

// NewColumn makes the column of one component.
func NewColumn[T any](space *Space) *Column[T] {
	c := &Column[T]{pointers: mem.HasPointers(reflect.TypeFor[T]()), views: make([][]*View[T], space.Homes()), now: &space.now, memory: &space.Memory}
	c.dir.Store(newColumnDir[T](firstChunks))
	return c
}

// At returns the row, or nil if the chunk lacks the component or the row. Unlike a view
// it is up to date for whoever may read the row.
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
		*c.dir.Load().stamps[l>>slots.RowBits] = *c.now
	}
	return p
}

// Slice returns the component of the rows, or nil if they lack it. It is small
// enough to be inlined.
func (v *View[T]) Slice(r Rows) []T {
	if check.Enabled {
		r.number = v.borrow(r)
	}
	if rows := v.rows; uint(r.number) < uint(len(rows)) {
		if data := rows[r.number]; r.to <= len(data) {
			return data[r.from:r.to]
		}
	}
	return nil
}

// View finds the rows of a column. It mirrors the column's directory for one
// owner: a shard, which finds only its own rows, or the idle world, which finds
// all.
//
// Ownership: a shard's, or the idle world's. Brought up to date when the owner adds chunks,
// and at the end of a refresh.
type View[T any] struct {
	runs   mem.Address // *[]run
	mask   slots.Loc   // keeps the offset of a run within runs; and seesAll
	owner  uint32      // the shard
	stamps mem.Address // *[]*uint32
	now    *uint32     // the tick in progress
	rows   [][]T
	guard  check.Guard
}

// seesAll is set in the mask of the idle world's views. An offset has no such bit.
const seesAll slots.Loc = 1 << 31

// Attach makes v the view of shard number owner, which finds only its own rows. If owner is
// the number of shards, v becomes a view of the idle world, which finds all rows. v must stay
// at its address.
func (c *Column[T]) Attach(v *View[T], owner int) {
	*v = View[T]{now: c.now, owner: uint32(owner)}
	if owner == len(c.views)-1 {
		v.mask = seesAll
	}
	c.views[owner] = append(c.views[owner], v)
	c.show(c.views[owner])
}

// show brings views up to date.
func (c *Column[T]) show(views []*View[T]) {
	d := c.dir.Load()
	for _, v := range views {
		v.rows, v.stamps, v.runs = d.rows, mem.AddressOf(d.stamps), mem.AddressOf(d.runs)
		v.mask = v.mask&seesAll | slots.Loc(len(d.runs)-1)<<runShift
	}
}

func (c *Column[T]) add(number, owner, rows int, idle bool) mem.Address {
	if have := len(c.dir.Load().rows); number >= have {
		c.grow(1 << bits.Len(uint(number)))
	}
	data, d := c.newOrSpare(rows), c.dir.Load()
	d.rows[number] = data // for the owner, which is the caller
	d.runs[number] = run{first: mem.AddressOf(data), low: slots.Loc(number)<<slots.RowBits + slots.Loc(rows) - slots.RowsMax, owner: uint32(owner)}
	c.show(c.views[owner])
	if idle {
		c.show(c.views[len(c.views)-1])
	}
	c.changed = true
	return mem.AddressOf(data)
}

func (c *Column[T]) stampBy(number int, stamp *uint32) { c.dir.Load().stamps[number] = stamp }

// grow replaces the directory by a longer one.
func (c *Column[T]) grow(length int) {
	old, d := c.dir.Load(), newColumnDir[T](length)
	copy(d.rows, old.rows)
	copy(d.stamps, old.stamps)
	copy(d.runs, old.runs)
	c.dir.Store(d) // the old one stays valid for its readers
}

// newOrSpare returns zeroed rows: dropped ones, if there are any of that number.
func (c *Column[T]) newOrSpare(n int) []T {
	for i := len(c.spare) - 1; i >= 0; i-- {
		if data := c.spare[i]; len(data) == n {
			last := len(c.spare) - 1
			c.spare[i], c.spare[last] = c.spare[last], nil
			c.spare = c.spare[:last]
			c.idle = min(c.idle, last)
			if check.Enabled {
				clear(data) // it was poisoned
			}
			return data
		}
	}
	return c.newRows(n)
}

func (c *Column[T]) newRows(n int) []T {
	return mem.Take[T](c.memory, n+stagger(n*int(reflect.TypeFor[T]().Size())))[:n:n]
}

func (c *Column[T]) drop(number int, keep bool) {
	d := c.dir.Load()
	data := d.rows[number]
	if check.Enabled {
		c.poison(data)
	} else if keep {
		clear(data)
	}
	if keep {
		c.spare = append(c.spare, data)
	}
	d.rows[number], d.stamps[number], d.runs[number] = nil, nil, run{}
}

func (c *Column[T]) zero(number, from, to int) {
	clear(c.dir.Load().rows[number][from:to])
}

// stagger returns how many rows more to allocate than a run of so many bytes
// needs. Allocations of a power of two all begin at the same offset in their
// memory pages and so compete for the same few sets of the processor's cache,
// when they are not full. One row more puts them in a size class that does not.
func stagger(bytes int) int {
	if bytes >= 2048 && bytes < 32768 && bytes%2048 == 0 {
		return 1
	}
	return 0
}

func (c *Column[T]) sync() {
	if !c.changed {
		return
	}
	c.changed = false
	for _, views := range c.views {
		c.show(views)
	}
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

func (c *Column[T]) value(l slots.Loc) any {
	if p := c.At(l); p != nil {
		return *p
	}
	return nil
}

func (c *Column[T]) layout() (size uintptr, plain bool) {
	return reflect.TypeFor[T]().Size(), !c.pointers
}
