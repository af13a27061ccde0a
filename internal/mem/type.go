package mem

import (
	"reflect"
	"slices"
	"time"
)

// Type is the type of some values, for code that does not know it. Code that works on values by
// their addresses is compiled once, and not for each type.
//
// Ownership: immutable.
type Type struct {
	Of      reflect.Type
	Size    uintptr
	Plain   bool // without pointers: values may be copied as bytes
	slice   reflect.Type
	move    func(to, from Address, n int) // copies n values; with a nil from it sets them to zero
	singles []span                        // the parts that are zero in a copy of an entity, in order; mostly nil
	times   []uintptr                     // the offsets of each time.Time; mostly nil
}

// span is a part of a value.
type span struct{ at, size uintptr }

// newType makes the Type of a Go type. move is the function that assigns its values.
func newType(of reflect.Type, move func(to, from Address, n int)) *Type {
	return &Type{Of: of, Size: of.Size(), Plain: !HasPointers(of), slice: reflect.SliceOf(of), move: move,
		singles: appendSingles(nil, of, 0), times: appendTimes(nil, of, 0)}
}

// singles are the types that Single was called for.
//
// Ownership: written when the program starts.
var singles []reflect.Type

// Single says that a T names something that only one entity has, as the ID of a timer does: in a
// copy of the entity it is zero. It is for types without pointers, and is called when the program
// starts.
func Single[T any]() { singles = append(singles, reflect.TypeFor[T]()) }

// IsSingle reports whether Single was called for a type.
func IsSingle(t reflect.Type) bool { return slices.Contains(singles, t) }

// appendSingles appends the parts of a t at an offset that have such types: in fields and arrays,
// but not behind slices, maps, pointers and interfaces. newType calls it once for a type.
func appendSingles(dst []span, t reflect.Type, at uintptr) []span {
	switch {
	case slices.Contains(singles, t):
		if last := len(dst) - 1; last >= 0 && dst[last].at+dst[last].size == at {
			dst[last].size += t.Size()
			return dst
		}
		return append(dst, span{at, t.Size()})
	case t.Kind() == reflect.Array && t.Len() > 0 && appendSingles(nil, t.Elem(), 0) != nil:
		for i := range t.Len() {
			dst = appendSingles(dst, t.Elem(), at+uintptr(i)*t.Elem().Size())
		}
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			dst = appendSingles(dst, t.Field(i).Type, at+t.Field(i).Offset)
		}
	}
	return dst
}

// HasSingles reports whether values have parts of Single types, which ClearSingles clears.
func (t *Type) HasSingles() bool { return t.singles != nil }

var timeType = reflect.TypeFor[time.Time]()

// appendTimes appends the offsets of each time.Time in a t at an offset: in fields and arrays, but
// not behind slices, maps, pointers and interfaces. newType calls it once for a type.
func appendTimes(dst []uintptr, t reflect.Type, at uintptr) []uintptr {
	switch {
	case t.Kind() == reflect.Struct && t.ConvertibleTo(timeType): // also a type made of it
		return append(dst, at)
	case t.Kind() == reflect.Array && t.Len() > 0 && appendTimes(nil, t.Elem(), 0) != nil:
		for i := range t.Len() {
			dst = appendTimes(dst, t.Elem(), at+uintptr(i)*t.Elem().Size())
		}
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			dst = appendTimes(dst, t.Field(i).Type, at+t.Field(i).Offset)
		}
	}
	return dst
}

// HasTimes reports whether the type has a time.Time that DropClocks finds. It then has pointers.
func (t *Type) HasTimes() bool { return t.times != nil }

// make allocates n zeroed values.
func (t *Type) make(n int) reflect.Value { return reflect.MakeSlice(t.slice, n, n) }

// Box returns the address of a copy of a value of the type. The value must have that type.
func (t *Type) Box(value any) Address {
	p := reflect.New(t.Of)
	p.Elem().Set(reflect.ValueOf(value))
	return p.UnsafePointer()
}

// NewCells is New for values as cells.
func (t *Type) NewCells(n int) Cells {
	values := t.make(n)
	c := t.Cells(values.UnsafePointer(), n)
	c.Values = values.Interface()
	return c
}
