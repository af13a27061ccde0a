package mem

import (
	"encoding/binary"
	"math"
	"reflect"
	"strconv"
	"time"
	"unsafe"
)

// This file holds the code that reads and writes values of types that the compiler does not know.

// Address is the address of a value of a type that the compiler does not know.
type Address = unsafe.Pointer

// AddressOf returns the address of the first row.
//
// Safety: callers use the address only with the slice's own type.
func AddressOf[T any](data []T) Address { return unsafe.Pointer(unsafe.SliceData(data)) }

// BytesOf returns the memory of rows, for hashes, and for the check build to poison.
//
// Safety: what is written there must hold no pointers.
func BytesOf[T any](data []T) []byte {
	if len(data) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(AddressOf(data)), uintptr(len(data))*unsafe.Sizeof(data[0]))
}

// TypeOf returns the Type of a T. It is the only code that is compiled for each type: its function
// assigns, so that the collector sees which pointers come and go.
//
// Safety: as for Type.Copy; only newType keeps the function.
func TypeOf[T any]() *Type {
	return newType(reflect.TypeFor[T](), func(to, from Address, n int) {
		switch {
		case n == 1 && from != nil:
			*(*T)(to) = *(*T)(from)
		case n == 1:
			*(*T)(to) = *new(T)
		case from == nil:
			clear(unsafe.Slice((*T)(to), n))
		default:
			copy(unsafe.Slice((*T)(to), n), unsafe.Slice((*T)(from), n))
		}
	})
}

// IsZero reports whether some bytes, which hold no pointers, are all zero.
//
// Safety: there are that many bytes at the address.
func IsZero(at Address, bytes uintptr) bool {
	i := uintptr(0)
	for ; i+32 <= bytes; i += 32 {
		b := (*[32]byte)(unsafe.Add(at, i))
		if load64(b[:8])|load64(b[8:16])|load64(b[16:24])|load64(b[24:]) != 0 {
			return false
		}
	}
	for ; i+8 <= bytes; i += 8 {
		if load64((*[8]byte)(unsafe.Add(at, i))[:]) != 0 {
			return false
		}
	}
	for ; i < bytes; i++ {
		if *(*byte)(unsafe.Add(at, i)) != 0 {
			return false
		}
	}
	return true
}

// load64 is one load, also of bytes that are not aligned.
//
// Safety: it uses nothing unsafe.
func load64(b []byte) uint64 { return binary.NativeEndian.Uint64(b) }

// StructOf returns the type of a struct of other types, and their offsets in it.
//
// Safety: each part is copied as its type copies it, at the offset that reflection found.
func StructOf(parts []*Type) (of *Type, offsets []uintptr) {
	fields := make([]reflect.StructField, len(parts))
	for i, p := range parts {
		fields[i] = reflect.StructField{Name: "F" + strconv.Itoa(i), Type: p.Of}
	}
	t := reflect.StructOf(fields)
	for i := range parts {
		offsets = append(offsets, t.Field(i).Offset)
	}
	return newType(t, func(to, from Address, n int) {
		for i := range uintptr(n) {
			for k, p := range parts {
				at := i*t.Size() + offsets[k]
				switch {
				case p.Size == 0:
				case from == nil:
					p.move(unsafe.Add(to, at), nil, 1)
				default:
					p.move(unsafe.Add(to, at), unsafe.Add(from, at), 1)
				}
			}
		}
	}), offsets
}

// New allocates n zeroed values, and returns the address of the first. Reflection would allocate
// twice.
//
// Safety: values without pointers are bytes to the collector, and words are aligned for any of them.
// So many values that their size overflows, or fewer than none, are left to reflection, which panics.
func (t *Type) New(n int) Address {
	if t.Plain && uint(n) <= math.MaxInt/2/uint(max(1, t.Size)) {
		return AddressOf(make([]uint64, (uintptr(n)*t.Size+7)/8))
	}
	return t.make(n).UnsafePointer()
}

// At returns the address of value i in an array that begins at first. It is small enough to be
// inlined.
//
// Safety: the array has more than i values.
func (t *Type) At(first Address, i int) Address { return unsafe.Add(first, uintptr(i)*t.Size) }

// Copy copies n values in a row. Source and destination may overlap.
//
// Safety: both addresses are of that many values of the type.
func (t *Type) Copy(to, from Address, n int) {
	switch {
	case n == 0 || t.Size == 0:
	case t.Plain:
		copy(t.Bytes(to, n), t.Bytes(from, n))
	default:
		t.move(to, from, n)
	}
}

// Assign is Copy for one value of a type with pointers. It is small enough to be inlined.
//
// Safety: as for Copy.
func (t *Type) Assign(to, from Address) { t.move(to, from, 1) }

// Clear sets n values in a row to zero.
//
// Safety: as for Copy.
func (t *Type) Clear(at Address, n int) {
	switch {
	case n == 0 || t.Size == 0:
	case t.Plain:
		clear(t.Bytes(at, n))
	default:
		t.move(at, nil, n)
	}
}

// ClearSingles sets the parts that have types of Single to zero, in n values in a row.
//
// Safety: as for Copy; reflection found the spans, in which there are no pointers.
func (t *Type) ClearSingles(first Address, n int) {
	for _, x := range t.singles {
		for i := range n {
			clear(unsafe.Slice((*byte)(unsafe.Add(t.At(first, i), x.at)), x.size))
		}
	}
}

// DropClocks drops the reading of the monotonic clock from each time.Time, in n values in a row:
// logs and snapshots do not have it, and with it Sub and Before would say something else.
//
// Safety: as for Copy; reflection found the offsets.
func (t *Type) DropClocks(first Address, n int) {
	for _, at := range t.times {
		for i := range n {
			x := (*time.Time)(unsafe.Add(t.At(first, i), at))
			*x = x.Round(0)
		}
	}
}

// Bytes returns the memory of n values in a row.
//
// Safety: as for Copy; what is written there must hold no pointers.
func (t *Type) Bytes(at Address, n int) []byte {
	return unsafe.Slice((*byte)(at), uintptr(n)*t.Size)
}

// Cells returns n values in a row as cells.
//
// Safety: as for Copy; the memory behind a []T is that of n values.
func (t *Type) Cells(at Address, n int) Cells {
	list := struct {
		first    Address
		len, cap int
	}{at, n, n}
	c := t.Run(at, n)
	c.Values = reflect.NewAt(t.slice, unsafe.Pointer(&list)).Elem().Interface()
	return c
}

// Run returns n values in a row as cells without Values. It allocates nothing.
//
// Safety: as for Copy.
func (t *Type) Run(at Address, n int) Cells {
	c := Cells{Type: t.Of, Len: n, Plain: t.Plain, at: at}
	if t.Plain && n > 0 {
		c.Bytes = t.Bytes(at, n)
	}
	return c
}

// Value returns a copy of the value at an address.
//
// Safety: as for Copy.
func (t *Type) Value(at Address) any { return reflect.NewAt(t.Of, at).Elem().Interface() }

// Slice returns n values in a row.
//
// Safety: as for As, for each of them.
func Slice[T any](at Address, n int) []T { return unsafe.Slice((*T)(at), n) }

// Part returns a part of the first value, such as a field. offset must be within the
// value, and the part there must have the type that the caller takes it as.
//
// Safety: as for As, which callers use with the type that reflection found at the
// offset.
func (c Cells) Part(offset uintptr) Pointer {
	if c.Len == 0 || offset > c.Type.Size() {
		panic("world: a part that is outside of its cells")
	}
	return Pointer{unsafe.Add(c.at, offset)}
}

// First returns the address of the first value.
//
// Safety: as for Part.
func (c Cells) First() Address { return c.at }

// At returns value i alone, in place, as cells without Bytes and Values.
//
// Safety: there are more than i values in a row at the address.
func (c Cells) At(i int) Cells {
	if uint(i) >= uint(c.Len) {
		panic("world: a part that is outside of its cells")
	}
	return Cells{Type: c.Type, Len: 1, at: unsafe.Add(c.at, uintptr(i)*c.Type.Size())}
}

// Slice returns n of the values, in place, as cells without Values.
//
// Safety: as for At.
func (c Cells) Slice(from, n int) Cells {
	if uint(from) > uint(c.Len) || uint(n) > uint(c.Len-from) {
		panic("world: a part that is outside of its cells")
	}
	size := c.Type.Size()
	s := Cells{Type: c.Type, Len: n, Plain: c.Plain, at: unsafe.Add(c.at, uintptr(from)*size)}
	if len(c.Bytes) > 0 {
		s.Bytes = c.Bytes[uintptr(from)*size : uintptr(from+n)*size]
	}
	return s
}

// PartBytes returns the memory of a part of the first value that holds no
// pointers.
//
// Safety: the part is within the value; callers have checked by reflection that it holds no
// pointers.
func (c Cells) PartBytes(offset, size uintptr) []byte {
	if c.Len == 0 || offset+size > c.Type.Size() {
		panic("world: a part that is outside of its cells")
	}
	return unsafe.Slice((*byte)(unsafe.Add(c.at, offset)), size)
}

// PointerTo returns the address of a value.
//
// Safety: As uses it only with the value's own type.
func PointerTo[T any](v *T) Pointer { return Pointer{unsafe.Pointer(v)} }

// Pointer is the address of a value whose type its user knows, such as the payload of a request.
type Pointer struct{ Address Address }

// At returns the address of value i in an array that begins at p, with size bytes for each.
//
// Safety: as for As; the array has more than i values.
func (p Pointer) At(i int, size uintptr) Pointer {
	return Pointer{unsafe.Add(p.Address, uintptr(i)*size)}
}

// As returns the value at an address as a T, which must be its type.
//
// Safety: a Handler gets only payloads of the kind that NewKind made for it, and the Push of that
// kind gave the same T to its caller to be filled in.
func As[T any](p Pointer) *T { return (*T)(p.Address) }
