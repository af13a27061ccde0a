package text

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/cbor"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/shape"
)

// This file writes values as JSON and reads them, by the description of their types in a snapshot.

// form says how something's values are saved, and how they are written as JSON.
//
// Ownership: immutable once it is made.
type form struct {
	*format.Named
	leaves []shape.Leaf
	skip   *shape.Skipper
	tree   []branch // the fields of the object; nil if a value is a single leaf
}

// branch is a field of an object: a leaf, or an object.
type branch struct {
	name  string
	leaf  int
	inner []branch // nil for a leaf
}

// formOf returns the form of what is registered. It finds where the leaves are in the object. An
// error says that the description makes no sense.
func formOf(n *format.Named) (f *form, err error) {
	f = &form{Named: n, skip: shape.Skip(n.Parts)}
	if f.leaves, err = shape.LeavesOf(n.Type, n.Parts); err != nil || len(f.leaves) == 1 && f.leaves[0].Path == "" {
		return f, err
	}
	f.tree = []branch{}
	for i := range f.leaves {
		path := strings.Split(f.leaves[i].Path, ".")
		if slices.ContainsFunc(path, func(name string) bool { return !token.IsIdentifier(name) }) {
			path = []string{f.leaves[i].Path}
		}
		if !plant(&f.tree, path, i) {
			return f, fmt.Errorf("the field %s is among others", f.leaves[i].Path)
		}
	}
	return f, nil
}

// plant adds a leaf to the tree of a form. It returns false if its place is taken by something that
// is no object, or is in an object that was left.
func plant(tree *[]branch, path []string, leaf int) bool {
	at := slices.IndexFunc(*tree, func(b branch) bool { return b.name == path[0] })
	switch {
	case at < 0:
		*tree = append(*tree, branch{name: path[0], leaf: leaf})
		if len(path) == 1 {
			return true
		}
		at = len(*tree) - 1
		(*tree)[at].inner = []branch{}
	case at != len(*tree)-1 || len(path) == 1 || (*tree)[at].inner == nil:
		return false
	}
	return plant(&(*tree)[at].inner, path[1:], leaf)
}

// append appends a value, which pictureOf has found whole, as JSON.
func (f *form) append(dst, value []byte) []byte {
	fields := f.fields(value)
	if f.tree == nil {
		return fields[0].appendJSON(dst)
	}
	return appendTree(dst, f.tree, fields)
}

// fieldValue is a field of a value.
type fieldValue struct {
	*shape.Leaf
	bytes []byte
}

// fields returns the fields of a value that was written.
func (f *form) fields(value []byte) (all []fieldValue) {
	var parts [][]byte
	for i := range f.Parts {
		var body []byte
		body, value, _ = shape.Cut(value, &f.Parts[i]) // it was cut before
		parts = append(parts, body)
	}
	for i := range f.leaves {
		x := fieldValue{&f.leaves[i], parts[f.leaves[i].Part]}
		if x.How == shape.AsMemory {
			x.bytes = x.bytes[x.At : x.At+x.Size]
		}
		all = append(all, x)
	}
	return all
}

// appendTree appends the fields of a value to a line, as an object.
func appendTree(dst []byte, tree []branch, fields []fieldValue) []byte {
	dst = append(dst, '{')
	for i := range tree {
		b := &tree[i]
		dst = appendName(dst, b.name, i)
		if b.inner != nil {
			dst = appendTree(dst, b.inner, fields)
		} else {
			dst = fields[b.leaf].appendJSON(dst)
		}
	}
	return append(dst, '}')
}

// appendJSON appends a field in the way in which it is written.
func (f *fieldValue) appendJSON(dst []byte) []byte {
	switch f.How {
	case shape.AsText:
		return appendText(dst, f.bytes)
	case shape.ByCodec:
		return appendBytes(dst, f.bytes)
	case shape.AsCBOR:
		return appendCBORText(dst, f.bytes, f.Shape)
	}
	return appendMemory(dst, f.bytes, f.Shape)
}

// appendMemory appends to a line what was written as memory. src has all of it.
func appendMemory(dst, src []byte, s *shape.Shape) []byte {
	switch {
	case s.Kind == reflect.Array:
		n := s.Len
		if s.Elem.Size == 0 {
			n = 0 // omitted, as there may be any number of them
		}
		dst = append(dst, '[')
		for i := range n {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendMemory(dst, src[i*s.Elem.Size:], s.Elem)
		}
		return append(dst, ']')
	case s.Kind == reflect.Struct:
		dst = append(dst, '{')
		for i := range s.Fields {
			f := &s.Fields[i]
			dst = appendMemory(appendName(dst, f.Name, i), src[f.At:], f.Shape)
		}
		return append(dst, '}')
	case s.Kind == reflect.Complex64, s.Kind == reflect.Complex128:
		half := halfOf(s)
		dst = appendMemory(append(dst, '['), src, half)
		return append(appendMemory(append(dst, ','), src[half.Size:], half), ']')
	}
	var number [1]uint64
	shape.Numbers(number[:], bitsOf(s.Kind), src, 0)
	return appendNumber(dst, number[0], s)
}

// bitsOf returns the kind that has the bits of numbers of another kind as they are.
func bitsOf(k reflect.Kind) reflect.Kind {
	if k == reflect.Float32 {
		return reflect.Uint32
	}
	return k
}

// halfOf returns the shape of the parts of a complex number.
func halfOf(s *shape.Shape) *shape.Shape {
	return &shape.Shape{Kind: reflect.Float32 + (s.Kind - reflect.Complex64), Size: s.Size / 2, Text: "float"}
}

// parse appends a value as it is saved, made of a JSON value. An error has the path of the field;
// there is no value then.
func (f *form) parse(dst []byte, v any) (out []byte, err error) {
	values := make([]any, len(f.leaves))
	if f.tree == nil {
		values[0] = v
	} else if err := pick(values, f.tree, v); err != nil {
		return nil, err
	}
	at := 0
	for i := range f.Parts {
		p := &f.Parts[i]
		from := len(dst)
		if dst = append(dst, make([]byte, p.Size)...); p.ByCodec {
			dst = append(dst, 0, 0, 0, 0) // for the length
		}
		for ; at < len(f.leaves) && f.leaves[at].Part == i; at++ {
			x := &f.leaves[at]
			switch x.How {
			case shape.AsMemory:
				err = parseMemory(dst[from+x.At:from+x.At+x.Size], values[at], x.Shape)
			case shape.AsCBOR:
				dst, err = parseCBORText(dst, values[at], x.Shape)
			default:
				dst, err = parseText(dst, values[at])
			}
			if err != nil {
				for _, name := range slices.Backward(strings.Split(x.Path, ".")) {
					err = inField(name, err)
				}
				return nil, err
			}
		}
		if p.ByCodec {
			binary.LittleEndian.PutUint32(dst[from:], uint32(len(dst)-from-4))
		}
	}
	return dst, nil
}

// pick finds the leaves of an object. An error has the path of a field that is missing, or is not
// one.
func pick(values []any, tree []branch, v any) error {
	return eachField(v, len(tree), func(i int) string { return tree[i].name }, func(i int, inner any) error {
		b := &tree[i]
		if values[b.leaf] = inner; b.inner == nil {
			return nil
		}
		return pick(values, b.inner, inner)
	})
}

// eachField calls f for the n fields of an object, which must be those with the names. An error has
// the path of the field.
func eachField(v any, n int, name func(i int) string, f func(i int, inner any) error) error {
	all, err := objectOf(v)
	if err != nil {
		return err
	}
	for i := range n {
		inner, ok := all[name(i)]
		err := errMissing
		if ok {
			err = f(i, inner)
		}
		if err != nil {
			return inField(name(i), err)
		}
	}
	if len(all) == n {
		return nil
	}
	var known []string
	for i := range n {
		known = append(known, name(i))
	}
	return unknown(all, known)
}

// parseMemory sets memory, which is zero, to a JSON value. An error has the path; the memory is
// then of no use.
func parseMemory(dst []byte, v any, s *shape.Shape) error {
	switch {
	case s.Kind == reflect.Array:
		all, err := listOf(v, min(s.Len, s.Size)) // elements without a size are omitted
		for i, x := range all {
			if s.Size > 0 && err == nil {
				err = inElement(i, parseMemory(dst[i*s.Elem.Size:(i+1)*s.Elem.Size], x, s.Elem))
			}
		}
		return err
	case s.Kind == reflect.Struct:
		return eachField(v, len(s.Fields), func(i int) string { return s.Fields[i].Name }, func(i int, inner any) error {
			f := &s.Fields[i]
			return parseMemory(dst[f.At:f.At+f.Size], inner, f.Shape)
		})
	case s.Kind == reflect.Complex64, s.Kind == reflect.Complex128:
		return parseMemory(dst, v, &shape.Shape{Kind: reflect.Array, Len: 2, Size: s.Size, Elem: halfOf(s)})
	}
	n, err := parseNumber(v, s)
	shape.PutNumbers([]uint64{n}, bitsOf(s.Kind), dst, 0)
	return err
}

// fieldNames returns the names of the fields of a struct.
func fieldNames(s *shape.Shape) (all []string) {
	for i := range s.Fields {
		all = append(all, s.Fields[i].Name)
	}
	return all
}

// What follows converts CBOR that package state has written to JSON, and back. A value that would
// not come back as the same bytes is written in base64: as {"cbor":"…"}.

// byHandle is the description of a handle, as of a type that writes itself.
var byHandle = strconv.Quote(reflect.TypeFor[handle.Handle]().String())

// appendCBORText appends a value of CBOR to a line: so that people can read it, or in base64 if it
// would not come back as the same bytes.
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

// appendRawCBOR appends CBOR in base64.
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
	switch float := shape.IsFloat(s.Kind); {
	case major <= 1 && shape.IsNumber(s.Kind) && !float:
		signed := s.Kind <= reflect.Int64
		if ok = !signed && major == 0 || signed && n <= math.MaxInt64; major == 1 {
			n = ^n
		}
		return appendWhole(dst, n, signed), rest, ok
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
	case float && src[0] == map[reflect.Kind]byte{reflect.Float32: cbor.Float32, reflect.Float64: cbor.Float64}[s.Kind]:
		return appendFloat(dst, n, shape.SizeOf(s.Kind)), rest, true
	}
	return dst, nil, false
}

// appendOwn appends the bytes of a type that writes itself. It returns false for what is not CBOR.
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

// appendPairs appends the n pairs of a map or the fields of a struct to a line, for appendCBOR. It
// returns false if one of them cannot be written.
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

// fieldOf returns the shape of a struct's field by its name, or nil.
func fieldOf(s *shape.Shape, name string) *shape.Shape {
	for i := range s.Fields {
		if f := &s.Fields[i]; f.Name == name || f.Name == name+cbor.ByNumber {
			return f.Shape
		}
	}
	return nil
}

// parseCBORText appends the CBOR of what appendCBORText wrote. An error has the path.
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
	case s.Kind == reflect.String:
		text, err := parseText(nil, v)
		return append(cbor.AppendHead(dst, cbor.Text, uint64(len(text))), text...), err
	case s.Kind == reflect.Bool || shape.IsNumber(s.Kind):
		n, err := parseNumber(v, s)
		switch {
		case s.Kind == reflect.Bool:
			return append(dst, cbor.False+byte(n)), err
		case s.Kind == reflect.Float32:
			return binary.BigEndian.AppendUint32(append(dst, cbor.Float32), uint32(n)), err
		case s.Kind == reflect.Float64:
			return binary.BigEndian.AppendUint64(append(dst, cbor.Float64), n), err
		case s.Kind <= reflect.Int64 && int64(n) < 0:
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
	all, err := listOf(v, s.Len)
	dst = cbor.AppendHead(dst, cbor.Array, uint64(len(all)))
	for i, x := range all {
		if err == nil {
			dst, err = parseCBORText(dst, x, s.Elem)
			err = inElement(i, err)
		}
	}
	return dst, err
}

// parseOwn appends a value of a type that writes itself. An error says what is wanted.
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
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			return nil, fmt.Errorf("%q is no time, as in 2006-01-02T15:04:05Z", text)
		}
	}
	return append(cbor.AppendHead(dst, cbor.Text, uint64(len(text))), text...), nil
}

// parsePairs appends a map or a struct. It sorts the keys by their bytes. An error has the path.
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

// parseKey returns the CBOR of a key, which is text in JSON. An error says what is wanted.
func parseKey(name string, s *shape.Shape) ([]byte, error) {
	if s.Kind == reflect.Bool {
		return parseCBORText(nil, name == "true", s)
	}
	return parseCBORText(nil, name, s)
}

// byTime is the description of a time.Time, as of a type that writes itself.
var byTime = strconv.Quote(reflect.TypeFor[time.Time]().String())
