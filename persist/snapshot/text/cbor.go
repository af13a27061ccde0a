package text

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
	"time"
	"unicode/utf8"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/cbor"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/shape"
)

// This file converts CBOR that package state has written to JSON, and back. A value that would
// not come back as the same bytes is written in base64: as {"cbor":"…"}.

// byHandle is the description of a handle, as of a type that writes itself.
var byHandle = strconv.Quote(reflect.TypeFor[handle.Handle]().String())

// appendCBORText appends a value as JSON.
func appendCBORText(dst, src []byte, s *shape.Shape) []byte {
	from := len(dst)
	dst, rest, ok := appendCBOR(dst, src, s)
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

// appendCBOR appends the first value of CBOR as JSON, and returns the bytes after it. It returns
// false if the value is not of the type, or cannot be written.
func appendCBOR(dst, src []byte, s *shape.Shape) (out, rest []byte, ok bool) {
	major, n, rest, err := cbor.Head(src)
	switch {
	case err != nil || (major == cbor.Bytes || major == cbor.Text) && n > uint64(len(rest)):
		return dst, nil, false
	case src[0] == cbor.Null:
		return append(dst, "null"...), rest, s.Kind == reflect.Pointer || s.Kind == reflect.Slice || s.Kind == reflect.Map
	case s.Kind == reflect.Pointer:
		return appendCBOR(dst, src, s.Elem)
	case s.Kind == reflect.Invalid:
		return appendOwn(dst, src, s, major, n, rest)
	}
	switch {
	case major <= 1 && s.Kind >= reflect.Int && s.Kind <= reflect.Int64:
		v := int64(n)
		if major == 1 {
			v = -1 - v
		}
		return appendWhole(dst, uint64(v), true), rest, n <= math.MaxInt64
	case major == 0 && s.Kind >= reflect.Uint && s.Kind <= reflect.Uint64:
		return appendWhole(dst, n, false), rest, true
	case major == cbor.Text && s.Kind == reflect.String:
		return appendText(dst, rest[:n]), rest[n:], true
	case major == cbor.Bytes && s.IsBytes():
		return append64(dst, rest[:n]), rest[n:], true
	case major == cbor.Array && (s.Kind == reflect.Slice || s.Kind == reflect.Array):
		dst = append(dst, '[')
		for i := range n {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, rest, ok = appendCBOR(dst, rest, s.Elem); !ok {
				return dst, nil, false
			}
		}
		return append(dst, ']'), rest, true
	case major == cbor.Map && (s.Kind == reflect.Map || s.Kind == reflect.Struct):
		return appendPairs(dst, s, n, rest)
	case src[0] == cbor.False || src[0] == cbor.True:
		return strconv.AppendBool(dst, src[0] == cbor.True), rest, s.Kind == reflect.Bool
	case src[0] == cbor.Float32 && s.Kind == reflect.Float32:
		return appendFloat(dst, n, 4), rest, true
	case src[0] == cbor.Float64 && s.Kind == reflect.Float64:
		return appendFloat(dst, n, 8), rest, true
	}
	return dst, nil, false
}

// appendOwn appends the bytes of a type that writes itself.
func appendOwn(dst, src []byte, s *shape.Shape, major byte, n uint64, rest []byte) (out, behind []byte, ok bool) {
	switch {
	case major == cbor.Text && utf8.Valid(rest[:n]) && s.Text != byHandle:
		return appendString(dst, string(rest[:n])), rest[n:], true
	case major == cbor.Bytes && n == 8 && s.Text == byHandle:
		return appendHandle(dst, handle.Handle(binary.BigEndian.Uint64(rest))), rest[n:], true
	}
	behind, err := cbor.Skip(src)
	if err != nil {
		return dst, nil, false
	}
	return appendRawCBOR(dst, src[:len(src)-len(behind)]), behind, true
}

// appendPairs appends the n pairs of a map or the fields of a struct.
func appendPairs(dst []byte, s *shape.Shape, n uint64, src []byte) (out, rest []byte, ok bool) {
	dst = append(dst, '{')
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		at := len(dst)
		key := s.Key
		if s.Kind == reflect.Struct {
			key = &shape.Shape{Kind: reflect.String}
			if len(src) > 0 && src[0]>>5 <= 1 {
				key.Kind = reflect.Int64 // the name is a number
			}
		}
		if dst, src, ok = appendCBOR(dst, src, key); !ok {
			return dst, nil, false
		}
		if dst[at] != '"' {
			dst = append(slices.Insert(dst, at, '"'), '"')
		}
		elem := s.Elem
		if s.Kind == reflect.Struct {
			name := ""
			if json.Unmarshal(dst[at:], &name) != nil {
				return dst, nil, false
			}
			if elem = fieldOf(s, name); elem == nil {
				return dst, nil, false
			}
		}
		if dst, src, ok = appendCBOR(append(dst, ':'), src, elem); !ok {
			return dst, nil, false
		}
	}
	return append(dst, '}'), src, true
}

// fieldOf returns the shape of a struct's field, or nil.
func fieldOf(s *shape.Shape, name string) *shape.Shape {
	for i := range s.Fields {
		if f := &s.Fields[i]; f.Name == name || f.Name == name+cbor.ByNumber {
			return f.Shape
		}
	}
	return nil
}

// parseCBORText appends the CBOR of what appendCBORText wrote.
func parseCBORText(dst []byte, v any, s *shape.Shape) (out []byte, err error) {
	if all, ok := v.(map[string]any); ok && len(all) == 1 {
		if coded, ok := all["cbor"].(string); ok {
			raw, err := parse64(nil, coded)
			if err == nil {
				err = cbor.One(raw)
			}
			return append(dst, raw...), err
		}
	}
	switch s.Kind {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if v == nil {
			return append(dst, cbor.Null), nil
		}
	}
	switch {
	case s.Kind == reflect.Pointer:
		return parseCBORText(dst, v, s.Elem)
	case s.Kind == reflect.Invalid:
		return parseOwn(dst, v, s)
	case s.Kind == reflect.Bool:
		is, ok := v.(bool)
		if !ok {
			return nil, wants("a bool: write true or false", v)
		}
		if is {
			return append(dst, cbor.True), nil
		}
		return append(dst, cbor.False), nil
	case s.Kind == reflect.String:
		text, err := parseText(nil, v)
		return append(cbor.AppendHead(dst, cbor.Text, uint64(len(text))), text...), err
	case shape.IsFloat(s.Kind):
		bits, err := parseFloat(v, shape.SizeOf(s.Kind))
		if s.Kind == reflect.Float32 {
			return binary.BigEndian.AppendUint32(append(dst, cbor.Float32), uint32(bits)), err
		}
		return binary.BigEndian.AppendUint64(append(dst, cbor.Float64), bits), err
	case shape.IsNumber(s.Kind):
		n, err := parseWhole(v, s)
		if int64(n) < 0 && s.Kind <= reflect.Int64 {
			return cbor.AppendHead(dst, 1, ^n), err
		}
		return cbor.AppendHead(dst, 0, n), err
	case s.IsBytes():
		if coded, ok := v.(string); ok {
			raw, err := parse64(nil, coded)
			return append(cbor.AppendHead(dst, cbor.Bytes, uint64(len(raw))), raw...), err
		}
	case s.Kind == reflect.Map || s.Kind == reflect.Struct:
		return parsePairs(dst, v, s)
	}
	all, err := listOf(v)
	if err != nil {
		return nil, err
	}
	if s.Kind == reflect.Array && len(all) != s.Len {
		return nil, fmt.Errorf("it has %d elements, want %d", len(all), s.Len)
	}
	dst = cbor.AppendHead(dst, cbor.Array, uint64(len(all)))
	for i, x := range all {
		if dst, err = parseCBORText(dst, x, s.Elem); err != nil {
			return nil, inField(fmt.Sprintf("[%d]", i), err)
		}
	}
	return dst, nil
}

// parseOwn appends a value of a type that writes itself.
func parseOwn(dst []byte, v any, s *shape.Shape) ([]byte, error) {
	if s.Text == byHandle {
		n, err := parseWhole(v, handleShape)
		return binary.BigEndian.AppendUint64(append(dst, cbor.Bytes<<5|8), n), err
	}
	text, ok := v.(string)
	if !ok {
		return nil, wants(`a text, or {"cbor":"…"}`, v)
	}
	if s.Text == byTime {
		if err := checkTime(text); err != nil {
			return nil, err
		}
	}
	return append(cbor.AppendHead(dst, cbor.Text, uint64(len(text))), text...), nil
}

// parsePairs appends a map or a struct. It sorts the keys by their bytes.
func parsePairs(dst []byte, v any, s *shape.Shape) ([]byte, error) {
	all, err := objectOf(v)
	if err != nil {
		return nil, err
	}
	type pair struct{ key, value []byte }
	var pairs []pair
	for name, x := range all {
		key, elem := s.Key, s.Elem
		if s.Kind == reflect.Struct {
			if elem = fieldOf(s, name); elem == nil {
				return nil, unknown(all, fieldNames(s))
			}
			key = &shape.Shape{Kind: reflect.String}
			if slices.Contains(fieldNames(s), name+cbor.ByNumber) {
				key.Kind = reflect.Int64
			}
		}
		var p pair
		if p.key, err = parseKey(name, key); err == nil {
			p.value, err = parseCBORText(nil, x, elem)
		}
		if err != nil {
			return nil, inField(name, err)
		}
		pairs = append(pairs, p)
	}
	slices.SortFunc(pairs, func(a, b pair) int { return bytes.Compare(a.key, b.key) })
	dst = cbor.AppendHead(dst, cbor.Map, uint64(len(pairs)))
	for i, p := range pairs {
		if i > 0 && bytes.Equal(p.key, pairs[i-1].key) {
			return nil, errors.New("two of its keys are the same")
		}
		dst = append(append(dst, p.key...), p.value...)
	}
	return dst, nil
}

// parseKey returns the CBOR of a key, which is text in JSON.
func parseKey(name string, s *shape.Shape) ([]byte, error) {
	if s.Kind == reflect.Bool {
		return parseCBORText(nil, name == "true", s)
	}
	return parseCBORText(nil, name, s)
}

// byTime is the description of a time.Time, as of a type that writes itself.
var byTime = strconv.Quote(reflect.TypeFor[time.Time]().String())

// checkTime refuses text that is not a time.
func checkTime(text string) error {
	if _, err := time.Parse(time.RFC3339, text); err != nil {
		return fmt.Errorf("%q is no time, as in 2006-01-02T15:04:05Z", text)
	}
	return nil
}
