package mem

import "reflect"

// Cells is a run of values of one type, for callers that do not know the type.
type Cells struct {
	Type   reflect.Type
	Len    int
	Plain  bool   // without pointers
	Bytes  []byte // if they are plain: their memory, padding included
	Values any    // a []T

	at Address // of the first
}

// CellsOf returns a run of values, in place, as cells. Who owns the values owns the cells.
func CellsOf[T any](values []T) Cells {
	c := Cells{Type: reflect.TypeFor[T](), Len: len(values), Values: values, at: AddressOf(values)}
	if c.Plain = !HasPointers(c.Type); c.Plain {
		c.Bytes = BytesOf(values)
	}
	return c
}

// NewCell returns a new value of a type that is known only at run time, zero, as cells.
func NewCell(t reflect.Type) Cells { return Cells{Type: t, Len: 1, at: reflect.New(t).UnsafePointer()} }

// CellOf returns one value, in place, as cells without Bytes and Values, for Part and
// PartBytes. It allocates nothing.
func CellOf[T any](v *T) Cells {
	return Cells{Type: reflect.TypeFor[T](), Len: 1, at: PointerTo(v).Address}
}
