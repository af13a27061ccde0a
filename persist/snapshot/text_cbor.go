package snapshot

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/atoll-sim/atoll/handle"
)

// This file converts CBOR that package state has written to JSON, and back. A value that would
// not come back as the same bytes is written in base64: as {"cbor":"…"}.

// The CBOR of values that are not numbers.
const (
	cborFalse   = 0xf4
	cborTrue    = 0xf5
	cborNull    = 0xf6
	cborFloat32 = 0xfa
	cborFloat64 = 0xfb
)

// byHandle is the description of a handle, as of a type that writes itself.
var byHandle = strconv.Quote(reflect.TypeFor[handle.Handle]().String())

// appendCBORText appends a value as JSON.
func appendCBORText(dst, src []byte, s *shape) []byte {
	from := len(dst)
	dst, rest, ok := s.appendCBOR(dst, src)
	if ok && len(rest) == 0 {
		if v, err := decodeText(dst[from:]); err == nil {
			if again, err := parseCBORText(nil, v, s); err == nil && bytes.Equal(again, src) {
				return dst
			}
		}
	}
	return appendRawCBOR(dst[:from], src)
}

func appendRawCBOR(dst, src []byte) []byte {
	return append(append64(append(dst, `{"cbor":`...), src), '}')
}

// decodeText reads one JSON value.
func decodeText(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// appendCBOR appends the first value of CBOR as JSON, and returns the bytes after it. It returns
// false if the value is not of the type, or cannot be written.
func (s *shape) appendCBOR(dst, src []byte) (out, rest []byte, ok bool) {
	major, n, rest, err := cborHead(src)
	switch {
	case err != nil || (major == cborBytes || major == cborText) && n > uint64(len(rest)):
		return dst, nil, false
	case src[0] == cborNull:
		return append(dst, "null"...), rest, s.kind == reflect.Pointer || s.kind == reflect.Slice || s.kind == reflect.Map
	case s.kind == reflect.Pointer:
		return s.elem.appendCBOR(dst, src)
	case s.kind == reflect.Invalid:
		return s.appendOwn(dst, src, major, n, rest)
	}
	switch {
	case major <= 1 && s.kind >= reflect.Int && s.kind <= reflect.Int64:
		v := int64(n)
		if major == 1 {
			v = -1 - v
		}
		return appendWhole(dst, uint64(v), true), rest, n <= math.MaxInt64
	case major == 0 && s.kind >= reflect.Uint && s.kind <= reflect.Uint64:
		return appendWhole(dst, n, false), rest, true
	case major == cborText && s.kind == reflect.String:
		return appendText(dst, rest[:n]), rest[n:], true
	case major == cborBytes && s.isBytes():
		return append64(dst, rest[:n]), rest[n:], true
	case major == cborArray && (s.kind == reflect.Slice || s.kind == reflect.Array):
		dst = append(dst, '[')
		for i := range n {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, rest, ok = s.elem.appendCBOR(dst, rest); !ok {
				return dst, nil, false
			}
		}
		return append(dst, ']'), rest, true
	case major == cborMap && (s.kind == reflect.Map || s.kind == reflect.Struct):
		return s.appendPairs(dst, n, rest)
	case src[0] == cborFalse || src[0] == cborTrue:
		return strconv.AppendBool(dst, src[0] == cborTrue), rest, s.kind == reflect.Bool
	case src[0] == cborFloat32 && s.kind == reflect.Float32:
		return appendFloat(dst, n, 4), rest, true
	case src[0] == cborFloat64 && s.kind == reflect.Float64:
		return appendFloat(dst, n, 8), rest, true
	}
	return dst, nil, false
}

// isBytes reports whether a type is written as a string of bytes.
func (s *shape) isBytes() bool {
	return (s.kind == reflect.Slice || s.kind == reflect.Array) && s.elem.kind == reflect.Uint8
}

// appendOwn appends the bytes of a type that writes itself.
func (s *shape) appendOwn(dst, src []byte, major byte, n uint64, rest []byte) (out, behind []byte, ok bool) {
	switch {
	case major == cborText && utf8.Valid(rest[:n]) && s.text != byHandle:
		return appendString(dst, string(rest[:n])), rest[n:], true
	case major == cborBytes && n == 8 && s.text == byHandle:
		return appendHandle(dst, handle.Handle(binary.BigEndian.Uint64(rest))), rest[n:], true
	}
	_, behind, err := (*rewriting)(nil).value(nil, src, 0)
	if err != nil {
		return dst, nil, false
	}
	return appendRawCBOR(dst, src[:len(src)-len(behind)]), behind, true
}

// appendPairs appends the n pairs of a map or the fields of a struct.
func (s *shape) appendPairs(dst []byte, n uint64, src []byte) (out, rest []byte, ok bool) {
	dst = append(dst, '{')
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		at := len(dst)
		key := s.key
		if s.kind == reflect.Struct {
			key = &shape{kind: reflect.String}
			if len(src) > 0 && src[0]>>5 <= 1 {
				key.kind = reflect.Int64 // the name is a number
			}
		}
		if dst, src, ok = key.appendCBOR(dst, src); !ok {
			return dst, nil, false
		}
		if dst[at] != '"' {
			dst = append(slices.Insert(dst, at, '"'), '"')
		}
		elem := s.elem
		if s.kind == reflect.Struct {
			name := ""
			if json.Unmarshal(dst[at:], &name) != nil {
				return dst, nil, false
			}
			if elem = s.field(name); elem == nil {
				return dst, nil, false
			}
		}
		if dst, src, ok = elem.appendCBOR(append(dst, ':'), src); !ok {
			return dst, nil, false
		}
	}
	return append(dst, '}'), src, true
}

// field returns the type of a field, or nil.
func (s *shape) field(name string) *shape {
	for i := range s.fields {
		if f := &s.fields[i]; f.name == name || f.name == name+byNumber {
			return f.shape
		}
	}
	return nil
}

// parseCBORText appends the CBOR of what appendCBORText wrote.
func parseCBORText(dst []byte, v any, s *shape) (out []byte, err error) {
	if all, ok := v.(map[string]any); ok && len(all) == 1 {
		if coded, ok := all["cbor"].(string); ok {
			raw, err := parse64(nil, coded)
			if err == nil {
				_, err = (*rewriting)(nil).all(raw)
			}
			return append(dst, raw...), err
		}
	}
	switch s.kind {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if v == nil {
			return append(dst, cborNull), nil
		}
	}
	switch {
	case s.kind == reflect.Pointer:
		return parseCBORText(dst, v, s.elem)
	case s.kind == reflect.Invalid:
		return s.parseOwn(dst, v)
	case s.kind == reflect.Bool:
		is, ok := v.(bool)
		if !ok {
			return nil, wants("a bool: write true or false", v)
		}
		if is {
			return append(dst, cborTrue), nil
		}
		return append(dst, cborFalse), nil
	case s.kind == reflect.String:
		text, err := parseText(nil, v)
		return append(appendCBORHead(dst, cborText, uint64(len(text))), text...), err
	case isFloat(s.kind):
		bits, err := parseFloat(v, kindSizes[s.kind])
		if s.kind == reflect.Float32 {
			return binary.BigEndian.AppendUint32(append(dst, cborFloat32), uint32(bits)), err
		}
		return binary.BigEndian.AppendUint64(append(dst, cborFloat64), bits), err
	case isNumber(s.kind):
		n, err := s.parseWhole(v)
		if int64(n) < 0 && s.kind <= reflect.Int64 {
			return appendCBORHead(dst, 1, ^n), err
		}
		return appendCBORHead(dst, 0, n), err
	case s.isBytes():
		if coded, ok := v.(string); ok {
			raw, err := parse64(nil, coded)
			return append(appendCBORHead(dst, cborBytes, uint64(len(raw))), raw...), err
		}
	case s.kind == reflect.Map || s.kind == reflect.Struct:
		return s.parsePairs(dst, v)
	}
	all, err := listOf(v)
	if err != nil {
		return nil, err
	}
	if s.kind == reflect.Array && len(all) != s.n {
		return nil, fmt.Errorf("it has %d elements, want %d", len(all), s.n)
	}
	dst = appendCBORHead(dst, cborArray, uint64(len(all)))
	for i, x := range all {
		if dst, err = parseCBORText(dst, x, s.elem); err != nil {
			return nil, inField(fmt.Sprintf("[%d]", i), err)
		}
	}
	return dst, nil
}

func (s *shape) parseOwn(dst []byte, v any) ([]byte, error) {
	if s.text == byHandle {
		n, err := (&shape{kind: reflect.Uint64, handle: true}).parseWhole(v)
		return binary.BigEndian.AppendUint64(append(dst, cborBytes<<5|8), n), err
	}
	text, ok := v.(string)
	if !ok {
		return nil, wants(`a text, or {"cbor":"…"}`, v)
	}
	if s.text == byTime {
		if err := checkTime(text); err != nil {
			return nil, err
		}
	}
	return append(appendCBORHead(dst, cborText, uint64(len(text))), text...), nil
}

// parsePairs appends a map or a struct. It sorts the keys by their bytes.
func (s *shape) parsePairs(dst []byte, v any) ([]byte, error) {
	all, err := objectOf(v)
	if err != nil {
		return nil, err
	}
	type pair struct{ key, value []byte }
	var pairs []pair
	for name, x := range all {
		key, elem := s.key, s.elem
		if s.kind == reflect.Struct {
			if elem = s.field(name); elem == nil {
				return nil, unknown(all, s.names())
			}
			key = &shape{kind: reflect.String}
			if slices.Contains(s.names(), name+byNumber) {
				key.kind = reflect.Int64
			}
		}
		var p pair
		if p.key, err = key.parseKey(name); err == nil {
			p.value, err = parseCBORText(nil, x, elem)
		}
		if err != nil {
			return nil, inField(name, err)
		}
		pairs = append(pairs, p)
	}
	slices.SortFunc(pairs, func(a, b pair) int { return bytes.Compare(a.key, b.key) })
	dst = appendCBORHead(dst, cborMap, uint64(len(pairs)))
	for i, p := range pairs {
		if i > 0 && bytes.Equal(p.key, pairs[i-1].key) {
			return nil, errors.New("two of its keys are the same")
		}
		dst = append(append(dst, p.key...), p.value...)
	}
	return dst, nil
}

// parseKey returns the CBOR of a key, which is text in JSON.
func (s *shape) parseKey(name string) ([]byte, error) {
	if s.kind == reflect.Bool {
		return parseCBORText(nil, name == "true", s)
	}
	return parseCBORText(nil, name, s)
}
