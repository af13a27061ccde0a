package snapshot

import (
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
)

// This file renames and removes fields in CBOR (RFC 8949). Nothing else has to be changed in it,
// because package state reads fields by name: new fields are zero, and each number is read by a
// type that holds it.

// rewriting says what is changed in a value; nil for nothing.
type rewriting struct {
	fields map[string]fieldRewriting // of a struct, by the CBOR of the saved name
	elem   *rewriting                // of an array, slice or map
}

type fieldRewriting struct {
	key []byte // the CBOR of the name; nil to leave it out
	*rewriting
}

// leftOut is for a value that is left out.
var leftOut = new(rewriting)

// byNumber is the suffix of a field's name that is a number in CBOR.
const byNumber = ",keyasint"

// cborKey returns the CBOR of the name of a field.
func cborKey(name string) []byte {
	if number, ok := strings.CutSuffix(name, byNumber); ok {
		if n, err := strconv.ParseInt(number, 10, 64); err == nil && n < 0 {
			return appendCBORHead(nil, 1, ^uint64(n))
		} else if err == nil {
			return appendCBORHead(nil, 0, uint64(n))
		}
	}
	return append(appendCBORHead(nil, cborText, uint64(len(name))), name...)
}

// The major types of CBOR that hold others.
const (
	cborBytes = 2
	cborText  = 3
	cborArray = 4
	cborMap   = 5
	cborTag   = 6
)

var errCBOR = errors.New("what should be CBOR is not")

// all rewrites bytes that are one value.
func (r *rewriting) all(src []byte) (dst []byte, err error) {
	dst, rest, err := r.value(nil, src, 0)
	if err == nil && len(rest) > 0 {
		err = errCBOR
	}
	return dst, err
}

// value rewrites the first value of src, and returns the bytes after it.
func (r *rewriting) value(dst, src []byte, depth int) (out, rest []byte, err error) {
	major, n, rest, err := cborHead(src)
	if err != nil || depth > 4*nestedMost {
		return nil, nil, errCBOR
	}
	switch {
	case r != nil && r.fields != nil && major == cborMap:
		return r.object(dst, rest, n, depth)
	case major == cborBytes || major == cborText:
		if n > uint64(len(rest)) {
			return nil, nil, errCBOR
		}
		rest = rest[n:]
		return append(dst, src[:len(src)-len(rest)]...), rest, nil
	}
	dst = append(dst, src[:len(src)-len(rest)]...)
	var elem *rewriting
	if r != nil {
		elem = r.elem
	}
	switch major {
	case cborTag:
		return (*rewriting)(nil).value(dst, rest, depth+1)
	case cborArray, cborMap:
		for ; n > 0 && err == nil; n-- {
			if major == cborMap {
				dst, rest, err = (*rewriting)(nil).value(dst, rest, depth+1)
			}
			if err == nil {
				dst, rest, err = elem.value(dst, rest, depth+1)
			}
		}
	}
	return dst, rest, err
}

// object rewrites the n fields of a struct.
func (r *rewriting) object(dst, src []byte, n uint64, depth int) (out, rest []byte, err error) {
	var fields []byte
	kept := uint64(0)
	for ; n > 0; n-- {
		key, value, err := (*rewriting)(nil).value(nil, src, depth+1)
		if err != nil {
			return nil, nil, err
		}
		how, known := r.fields[string(key)]
		changed, rest, err := how.value(nil, value, depth+1)
		if err != nil {
			return nil, nil, err
		}
		src = rest
		switch {
		case known && how.key == nil:
			continue
		case known:
			key = how.key
		}
		kept++
		fields = append(append(fields, key...), changed...)
	}
	return append(appendCBORHead(dst, cborMap, kept), fields...), src, nil
}

// cborHead reads the head of a value: its major type, and its number or length.
func cborHead(src []byte) (major byte, n uint64, rest []byte, err error) {
	if len(src) == 0 {
		return 0, 0, nil, errCBOR
	}
	major, n = src[0]>>5, uint64(src[0]&31)
	size := 0
	if n >= 24 {
		if size = 1 << (n - 24); n > 27 {
			return 0, 0, nil, errCBOR
		}
	}
	if len(src) < 1+size {
		return 0, 0, nil, errCBOR
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

func appendCBORHead(dst []byte, major byte, n uint64) []byte {
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
