// Package cbor reads and writes the heads of CBOR values (RFC 8949). That is enough to rename the
// fields of what package state has written, and to show it, without its Go type.
package cbor

import (
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
)

// The major types of integers, and of values that have others, or bytes, in them.
const (
	Unsigned = 0
	Negative = 1
	Bytes    = 2
	Text     = 3
	Array    = 4
	Map      = 5
	Tag      = 6
)

// The first bytes of values that are not numbers.
const (
	False   = 0xf4
	True    = 0xf5
	Null    = 0xf6
	Float32 = 0xfa
	Float64 = 0xfb
)

// ByNumber is the suffix of a field's name that is a number in CBOR.
const ByNumber = ",keyasint"

// nestedMost bounds how deep a value that is skipped may be nested.
const nestedMost = 256

// Err is returned for bytes that are no value.
var Err = errors.New("what should be CBOR is not")

// Head reads the head of a value: its major type, and its number or length. It returns Err if there
// is none, or it is longer than src.
func Head(src []byte) (major byte, n uint64, rest []byte, err error) {
	if len(src) == 0 {
		return 0, 0, nil, Err
	}
	major, n = src[0]>>5, uint64(src[0]&31)
	size := 0
	if n >= 24 {
		if size = 1 << (n - 24); n > 27 {
			return 0, 0, nil, Err
		}
	}
	if len(src) < 1+size {
		return 0, 0, nil, Err
	}
	switch size {
	case 1:
		n = uint64(src[1])
	case 2:
		n = uint64(binary.BigEndian.Uint16(src[1:]))
	case 4:
		n = uint64(binary.BigEndian.Uint32(src[1:]))
	case 8:
		n = binary.BigEndian.Uint64(src[1:])
	}
	return major, n, src[1+size:], nil
}

// AppendHead appends the head of a value to what a caller writes, as short as it can be.
func AppendHead(dst []byte, major byte, n uint64) []byte {
	switch {
	case n < 24:
		return append(dst, major<<5|byte(n))
	case n < 1<<8:
		return append(dst, major<<5|24, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, major<<5|25), uint16(n))
	case n < 1<<32:
		return binary.BigEndian.AppendUint32(append(dst, major<<5|26), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, major<<5|27), n)
}

// Key returns the CBOR of a field's name, which is a number if it ends with ByNumber.
func Key(name string) []byte {
	if number, ok := strings.CutSuffix(name, ByNumber); ok {
		if n, err := strconv.ParseInt(number, 10, 64); err == nil && n < 0 {
			return AppendHead(nil, Negative, ^uint64(n))
		} else if err == nil {
			return AppendHead(nil, Unsigned, uint64(n))
		}
	}
	return append(AppendHead(nil, Text, uint64(len(name))), name...)
}

// One returns an error for bytes that are not one value.
func One(src []byte) error {
	rest, err := Skip(src)
	if err == nil && len(rest) > 0 {
		err = Err
	}
	return err
}

// Skip returns the bytes after the first value of src, or Err if there is none.
func Skip(src []byte) (rest []byte, err error) { return skip(src, 0) }

// skip is Skip within as many other values as depth says. The error is Err.
func skip(src []byte, depth int) (rest []byte, err error) {
	major, n, rest, err := Head(src)
	if err != nil || depth > nestedMost {
		return nil, Err
	}
	switch major {
	case Bytes, Text:
		if n > uint64(len(rest)) {
			return nil, Err
		}
		return rest[n:], nil
	case Tag:
		return skip(rest, depth+1)
	case Array, Map:
		for ; n > 0 && err == nil; n-- {
			if rest, err = skip(rest, depth+1); err == nil && major == Map {
				rest, err = skip(rest, depth+1)
			}
		}
	}
	return rest, err
}
