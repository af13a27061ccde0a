package schema

import "github.com/atoll-sim/atoll/persist/snapshot/internal/cbor"

// This file renames and removes fields in CBOR. Nothing else has to be changed in it, because
// package state reads fields by name: new fields are zero, and each number is read by a type that
// holds it.

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

// all rewrites bytes that are one value.
func (r *rewriting) all(src []byte) (dst []byte, err error) {
	dst, rest, err := r.value(nil, src)
	if err == nil && len(rest) > 0 {
		err = cbor.Err
	}
	return dst, err
}

// value rewrites the first value of src, and returns the bytes after it.
func (r *rewriting) value(dst, src []byte) (out, rest []byte, err error) {
	major, n, rest, err := cbor.Head(src)
	switch {
	case err != nil:
		return nil, nil, err
	case r != nil && r.fields != nil && major == cbor.Map:
		return r.object(dst, rest, n)
	case r == nil || r.elem == nil || major != cbor.Array && major != cbor.Map:
		if rest, err = cbor.Skip(src); err != nil {
			return nil, nil, err
		}
		return append(dst, src[:len(src)-len(rest)]...), rest, nil
	}
	dst = append(dst, src[:len(src)-len(rest)]...)
	for ; n > 0 && err == nil; n-- {
		if major == cbor.Map {
			dst, rest, err = (*rewriting)(nil).value(dst, rest)
		}
		if err == nil {
			dst, rest, err = r.elem.value(dst, rest)
		}
	}
	return dst, rest, err
}

// object rewrites the n fields of a struct.
func (r *rewriting) object(dst, src []byte, n uint64) (out, rest []byte, err error) {
	var fields []byte
	kept := uint64(0)
	for ; n > 0; n-- {
		value, err := cbor.Skip(src)
		if err != nil {
			return nil, nil, err
		}
		key := src[:len(src)-len(value)]
		how, known := r.fields[string(key)]
		changed, rest, err := how.value(nil, value)
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
	return append(cbor.AppendHead(dst, cbor.Map, kept), fields...), src, nil
}
