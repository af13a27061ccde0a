package mem

import "reflect"

// Type is a type of values, for code that does not know it: what works on values by their
// addresses is compiled once, and not for each type.
//
// Ownership: immutable.
type Type struct {
	Of    reflect.Type
	Size  uintptr
	Plain bool // without pointers: values may be copied as bytes
	slice reflect.Type
	move  func(to, from Address, n int) // copies n values; without from it sets them to zero
}

func newType(of reflect.Type, move func(to, from Address, n int)) *Type {
	return &Type{Of: of, Size: of.Size(), Plain: !HasPointers(of), slice: reflect.SliceOf(of), move: move}
}

// make allocates n zeroed values.
func (t *Type) make(n int) reflect.Value { return reflect.MakeSlice(t.slice, n, n) }

// New allocates n zeroed values, and returns the address of the first.
func (t *Type) New(n int) Address { return t.make(n).UnsafePointer() }

// Box returns the address of a copy of a value of the type.
func (t *Type) Box(value any) Address {
	p := reflect.New(t.Of)
	p.Elem().Set(reflect.ValueOf(value))
	return p.UnsafePointer()
}

// NewCells is New for a run of values as cells.
func (t *Type) NewCells(n int) Cells {
	values := t.make(n)
	c := t.Cells(values.UnsafePointer(), n)
	c.Values = values.Interface()
	return c
}
