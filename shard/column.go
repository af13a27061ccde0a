package shard

import (
	"reflect"
	"sync/atomic"
	"unsafe"
)

// Column holds every row of one component, chunk by chunk. The rows of a chunk
// are one contiguous []T.
//
//	dir[number] ──▶ { data []T, owner }     number: the chunk's, world-wide
//
// A chunk whose table lacks the component has no data here: the check that a
// row is in bounds is at once the check that the entity has the component.
//
// Invariants: data is never reallocated. An entry, once made, is never changed,
// and every later directory has it.
//
// Ownership: the directory is written under the space's lock. An entry's rows
// belong to the shard that owns the chunk; another shard may read them in a
// tick behind a fence.
type Column[T any] struct {
	dir      atomic.Pointer[[]columnChunk[T]]
	pointers bool // T holds pointers: vacated rows are cleared
}

type columnChunk[T any] struct {
	data  []T
	owner uint32
}

// AnyColumn is what a table needs of its columns, whatever their type.
type AnyColumn interface {
	// add gives a chunk its rows. The space's lock is held.
	add(number, owner uint32, rows int)
	// move copies rows, in order.
	move(moves []relocation)
	// wipe forgets the rows from to to, exclusive, of a chunk.
	wipe(number uint32, from, to int)
	// Put stores the T at src.
	Put(at Loc, src unsafe.Pointer)
	// rowBytes is the size of a row.
	rowBytes() int
}

type relocation struct{ to, from Loc }

// NewColumn makes the column of one component.
func NewColumn[T any]() *Column[T] {
	c := &Column[T]{pointers: HasPointers(reflect.TypeFor[T]())}
	c.dir.Store(new([]columnChunk[T]))
	return c
}

// At returns the row, or nil if the chunk lacks the component.
func (c *Column[T]) At(l Loc) *T {
	v := c.View()
	return v.At(l)
}

// View returns the column as seen from everywhere.
func (c *Column[T]) View() View[T] { return View[T]{column: c} }

// ViewOf returns the column as seen by one shard, which finds its own rows
// alone.
func (c *Column[T]) ViewOf(shard int) View[T] {
	return View[T]{column: c, owner: uint32(shard), mask: ^uint32(0)}
}

// View is a column and the shard whose rows may be found in it.
type View[T any] struct {
	column *Column[T]
	owner  uint32
	mask   uint32 // all ones, or 0: any owner
}

// At returns the row, or nil if the chunk lacks the component or its owner is
// out of view. It is small enough to be inlined.
func (v *View[T]) At(l Loc) *T {
	if d := *v.column.dir.Load(); int(l>>RowBits) < len(d) {
		e := &d[l>>RowBits]
		if row := int(l & rowMask); row < len(e.data) && e.owner&v.mask == v.owner {
			return &e.data[row]
		}
	}
	return nil
}

// Slice returns the component of the rows, or nil if they lack it. It is small
// enough to be inlined.
func (v *View[T]) Slice(r Rows) []T {
	if d := *v.column.dir.Load(); int(r.number) < len(d) {
		if e := &d[r.number]; r.n <= len(e.data) {
			return e.data[:r.n]
		}
	}
	return nil
}

func (c *Column[T]) add(number, owner uint32, rows int) {
	d := *c.dir.Load()
	if int(number) >= len(d) {
		next := make([]columnChunk[T], max(8, 2*len(d), int(number)+1))
		copy(next, d)
		d = next
	}
	d[number] = columnChunk[T]{data: make([]T, rows), owner: owner}
	c.dir.Store(&d) // publishes the entry to the owner of the chunk
}

func (c *Column[T]) move(moves []relocation) {
	d := *c.dir.Load()
	for _, m := range moves {
		d[m.to>>RowBits].data[m.to&rowMask] = d[m.from>>RowBits].data[m.from&rowMask]
	}
}

func (c *Column[T]) wipe(number uint32, from, to int) {
	if c.pointers {
		clear((*c.dir.Load())[number].data[from:to])
	}
}

// Put stores the T that src points to in a row.
//
// Safety: src points to a live T: callers pass the address of a field whose
// type was compared with T's when its bundle was made.
func (c *Column[T]) Put(at Loc, src unsafe.Pointer) {
	(*c.dir.Load())[at>>RowBits].data[at&rowMask] = *(*T)(src)
}

func (c *Column[T]) rowBytes() int { return int(reflect.TypeFor[T]().Size()) }

// HasPointers reports whether values of t hold anything the collector follows.
func HasPointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return false
	case reflect.Array:
		return t.Len() > 0 && HasPointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if HasPointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	default:
		return true
	}
}
