package state

import (
	"encoding/binary"
	"fmt"
	"reflect"
)

// layout says which bytes of a type without pointers are part of its value. A row
// is hashed as its memory with all other bytes zeroed. So floats count by their
// bits: -0 is not 0, and a NaN equals only one with the same bits.
//
//	struct { A uint8; B uint32; C uint8 }
//
//	memory  A . . . B B B B C . . .
//	mask    1 0 0 0 1 1 1 1 1 0 0 0
//
// Immutable.
type layout struct {
	size  int
	whole bool     // every byte counts
	mask  []uint64 // little endian; for whole rows that end at a multiple of 8 bytes, and at least maskBytes long
	bools []int    // offsets of those in a row
}

// maskBytes is the least length of a mask: shorter loops cost more.
const maskBytes = 512

// layoutOf makes the layout of a type. path is its name in errors.
func layoutOf(t reflect.Type, path string) (*layout, error) {
	counts := make([]coverage, t.Size())
	if err := cover(counts, t, 0, path); err != nil {
		return nil, err
	}
	l := &layout{size: len(counts), whole: true}
	for i, c := range counts {
		l.whole = l.whole && c != empty
		if c == truth {
			l.bools = append(l.bools, i)
		}
	}
	if l.whole || l.size == 0 {
		return l, nil
	}
	length := l.size
	for length%8 != 0 || length < maskBytes {
		length += l.size
	}
	bytes := make([]byte, length)
	for i := range bytes {
		if counts[i%l.size] != empty {
			bytes[i] = 0xff
		}
	}
	for i := 0; i < length; i += 8 {
		l.mask = append(l.mask, binary.LittleEndian.Uint64(bytes[i:]))
	}
	return l, nil
}

// coverage says what a byte holds.
type coverage uint8

const (
	empty coverage = iota
	digit          // part of a number
	truth          // a bool
)

// cover marks the bytes of a value of type t at an offset that are part of the value. It
// returns an error if they are not numbers. Fields named _ are not a part.
func cover(counts []coverage, t reflect.Type, at uintptr, path string) error {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Name == "_" {
				continue
			}
			if err := cover(counts, f.Type, at+f.Offset, path+"."+f.Name); err != nil {
				return err
			}
		}
		return nil
	case reflect.Array:
		if t.Len() == 0 {
			return nil
		}
		if err := cover(counts, t.Elem(), at, path+"[0]"); err != nil {
			return err
		}
		size := t.Elem().Size()
		for i := size; i < t.Size(); i++ { // like the first element
			counts[at+i] = counts[at+i-size]
		}
		return nil
	case reflect.Bool:
		counts[at] = truth
		return nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		for i := range t.Size() {
			counts[at+i] = digit
		}
		return nil
	}
	return fmt.Errorf("%s is a %s", path, kindName(t))
}

// kindName describes a type that cannot be hashed by itself.
func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer, reflect.UnsafePointer:
		return "pointer"
	case reflect.Func:
		return "function"
	case reflect.Chan:
		return "channel"
	}
	return t.Kind().String()
}

// masked writes rows to dst, which has the same length, with all bytes zeroed that are not
// part of a value.
func (l *layout) masked(dst, rows []byte) {
	for len(rows) >= 8*len(l.mask) {
		n := 8 * len(l.mask)
		maskWords(dst[:n], rows[:n], l.mask)
		dst, rows = dst[n:], rows[n:]
	}
	whole := len(rows) / 8
	maskWords(dst[:8*whole], rows[:8*whole], l.mask[:whole])
	if whole < len(l.mask) {
		for i := 8 * whole; i < len(rows); i++ {
			dst[i] = rows[i] & byte(l.mask[whole]>>(8*(i%8)))
		}
	}
}

func maskWords(dst, src []byte, mask []uint64) {
	for _, m := range mask {
		binary.LittleEndian.PutUint64(dst, binary.LittleEndian.Uint64(src)&m)
		dst, src = dst[8:], src[8:]
	}
}

// read copies a row from src, to be used as a value. It zeroes bytes that are not part of the
// value, and makes bools 0 or 1.
func (l *layout) read(row, src []byte) {
	if l.whole {
		copy(row, src)
	} else if l.size > 0 {
		l.masked(row, src)
	}
	for _, at := range l.bools {
		row[at] &= 1
	}
}
