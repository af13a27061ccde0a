package shard

import (
	"reflect"
	"unsafe"
)

// Column holds every row of one component in one shard, chunk by chunk. The
// rows of a chunk are one contiguous []T.
//
//	chunks[n] ──▶ { data []T, base, written }     n: the chunk's number in its shard
//
// A chunk whose table lacks the component has no data here: the check that a
// row is in bounds is at once the check that the entity has the component and
// that the atom is in this shard.
//
// Invariants: data is never reallocated.
//
// Ownership: the shard's owner. Another shard may read in a tick behind a fence.
type Column[T any] struct {
	chunks   []columnChunk[T]
	shift    uint8 // Loc to chunk number
	pointers bool  // T holds pointers: vacated rows are cleared
}

type columnChunk[T any] struct {
	data []T
	base Loc
}

// AnyColumn is what a table needs of its columns, whatever their type.
type AnyColumn interface {
	// add gives chunk number its rows.
	add(number uint32, base Loc, rows int)
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

// NewColumn makes the column of one component for a world of the given number
// of shards.
func NewColumn[T any](shards int) *Column[T] {
	return &Column[T]{shift: locShift(shards), pointers: HasPointers(reflect.TypeFor[T]())}
}

// At returns the row, or nil if it is not here: no such component, or another
// shard. It is small enough to be inlined.
func (c *Column[T]) At(l Loc) *T {
	if i := int(l >> c.shift); i < len(c.chunks) {
		e := &c.chunks[i]
		if row := int(l - e.base); row < len(e.data) {
			return &e.data[row]
		}
	}
	return nil
}

// Rows returns the rows of a chunk, or nil if it lacks the component. The
// chunk must belong to this shard.
func (c *Column[T]) Rows(base Loc, n int) []T {
	if i := int(base >> c.shift); i < len(c.chunks) {
		if e := &c.chunks[i]; n <= len(e.data) {
			return e.data[:n:n]
		}
	}
	return nil
}

func (c *Column[T]) add(number uint32, base Loc, rows int) {
	for len(c.chunks) <= int(number) {
		c.chunks = append(c.chunks, columnChunk[T]{})
	}
	c.chunks[number] = columnChunk[T]{data: make([]T, rows), base: base}
}

func (c *Column[T]) move(moves []relocation) {
	for _, m := range moves {
		from, to := &c.chunks[m.from>>c.shift], &c.chunks[m.to>>c.shift]
		to.data[m.to&rowMask] = from.data[m.from&rowMask]
	}
}

func (c *Column[T]) wipe(number uint32, from, to int) {
	if c.pointers {
		clear(c.chunks[number].data[from:to])
	}
}

// Put stores the T that src points to in a row.
//
// Safety: src points to a live T: callers pass the address of a field whose
// type was compared with T's when its bundle was made.
func (c *Column[T]) Put(at Loc, src unsafe.Pointer) {
	c.chunks[at>>c.shift].data[at&rowMask] = *(*T)(src)
}

func (c *Column[T]) rowBytes() int { return int(unsafe.Sizeof(*new(T))) }

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
