// Package shape reads how a snapshot describes the types of its values, so that they can be shown,
// converted or passed over without the Go types. A file says what it likes: nothing of it is
// trusted.
package shape

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"strconv"
	"strings"

	"github.com/atoll-sim/atoll/internal/form"

	"github.com/zeebo/xxh3"

	"github.com/atoll-sim/atoll/internal/mem"
)

// Shape is a type as a snapshot describes it: as memory, or as CBOR.
//
// Ownership: immutable once it is read.
type Shape struct {
	Kind   reflect.Kind // Invalid if only its codec can read it
	Text   string
	Handle bool // the type, a uint64, is a handle
	Size   int  // in memory
	Len    int  // of an array
	Elem   *Shape
	Key    *Shape // of a map
	Fields []Field
	Enum   *Enum // of an integer whose constants are declared
	Enums  bool  // it has one, or something within it has
}

// Field is a field of a struct.
type Field struct {
	Name string
	At   int // in memory
	*Shape
}

// IsBytes reports whether CBOR has a type as a string of bytes.
func (s *Shape) IsBytes() bool {
	return (s.Kind == reflect.Slice || s.Kind == reflect.Array) && s.Elem.Kind == reflect.Uint8
}

// Leaf is a field with a description of its own: a number, an array, or something that a codec,
// text or CBOR writes.
type Leaf struct {
	Path string // without the type, such as Place.X; empty if the value is not a struct
	Name string // the last name of a path within a field; elsewhere empty
	Part int    // of the form
	At   int    // in the part
	How  Written
	*Shape
}

// Written says how a field is written.
type Written uint8

// The ways to write a field.
const (
	AsMemory Written = iota
	AsText
	AsCBOR
	ByCodec
)

const (
	ofCodec = ", by a codec"
	ofCBOR  = ", as CBOR"
	// sizeMax bounds the memory of a value.
	sizeMax = 1 << 30
	// NestedMost bounds how deep a type may be nested.
	NestedMost = 64
)

// LeavesOf returns the fields of the values of a type, from the parts that are written of each. The
// error says what of the description makes no sense.
func LeavesOf(typ string, parts []form.Part) (all []Leaf, err error) {
	known, end := map[string]bool{}, 0
	for i, p := range parts {
		if p.Offset < end || p.Size > sizeMax-p.Offset || p.ByCodec && (len(p.Fields) != 1 || p.Size != 0) {
			return nil, fmt.Errorf("part %d of a %s is at byte %d, with %d bytes and %d fields", i, typ, p.Offset, p.Size, len(p.Fields))
		}
		at := p.Offset
		for _, f := range p.Fields {
			x := Leaf{Path: pathWithin(typ, f.Path), Part: i, At: f.Offset - p.Offset}
			if x.Shape, x.How, err = parseField(f.Type); err != nil {
				return nil, fmt.Errorf("field %s: %w", f.Path, err)
			}
			switch {
			case (x.How != AsMemory) != p.ByCodec:
				return nil, fmt.Errorf("field %s, a %s, is not in a part of its kind", f.Path, f.Type)
			case known[x.Path]:
				return nil, fmt.Errorf("there are two fields %s", f.Path)
			case f.Offset < at || f.Offset > sizeMax || !p.ByCodec && x.Size > p.Offset+p.Size-f.Offset:
				return nil, fmt.Errorf("field %s, a %s, is at byte %d, outside of its place", f.Path, f.Type, f.Offset)
			}
			known[x.Path] = true
			at = f.Offset + x.Size
			all = append(all, x)
		}
		end = p.Offset + p.Size
	}
	return all, nil
}

// HashOf returns the hash of a form. Forms with the same hash read each other's bytes, as far as
// codecs can.
func HashOf(f form.Form) uint64 { return xxh3.HashString(f.Shape()) }

// pathWithin returns a field's path without the type at its beginning.
func pathWithin(typ, path string) string {
	rest, ok := strings.CutPrefix(path, typ)
	if ok && rest == "" {
		return ""
	}
	if rest, ok = strings.CutPrefix(rest, "."); ok {
		return rest
	}
	return path
}

// parseField reads the description of a field's type, and how the field is written. An error says
// what of it is no type.
func parseField(text string) (s *Shape, how Written, err error) {
	if name, ok := strings.CutSuffix(text, ofCodec); ok {
		return &Shape{Text: name}, ByCodec, nil
	}
	if text == "string" {
		return &Shape{Kind: reflect.String, Text: text}, AsText, nil
	}
	p := typeParser{}
	if p.rest, p.cbor = strings.CutSuffix(text, ofCBOR); p.cbor {
		how = AsCBOR
	}
	if s = p.parse(0); p.err == nil && p.rest != "" {
		p.fail()
	}
	if p.err != nil {
		return nil, 0, fmt.Errorf("%w, in %q", p.err, text)
	}
	return s, how, nil
}

// typeParser reads types as package state describes them.
//
//	memory  kind │ handle │ [n]type │ {name type@offset; … size}
//	CBOR    kind │ [n]type │ []type │ *type │ map[type]type │ {name type; …} │ "a type that writes itself"
//	kind    of an integer may be followed by "name"("constant"=number, …)
//
// Ownership: the caller of LeavesOf.
type typeParser struct {
	rest string
	cbor bool
	err  error
}

// fail notes that no type begins here, and returns an empty one so that parsing can end.
func (t *typeParser) fail() *Shape {
	if t.err == nil {
		t.err = fmt.Errorf("no type is %.40q", t.rest)
	}
	return &Shape{}
}

// cut removes a text from the front, or reports that it is not there.
func (t *typeParser) cut(text string) (ok bool) {
	t.rest, ok = strings.CutPrefix(t.rest, text)
	return ok
}

// must removes a text from the front, or fails.
func (t *typeParser) must(text string) {
	if !t.cut(text) {
		t.fail()
	}
}

// number reads digits.
func (t *typeParser) number() int {
	n := len(t.rest) - len(strings.TrimLeft(t.rest, "0123456789"))
	v, err := strconv.ParseUint(t.rest[:n], 10, 30)
	if err != nil {
		t.fail()
		return 0
	}
	t.rest = t.rest[n:]
	return int(v)
}

// name reads the name of a field, which is in quotes if it is no identifier.
func (t *typeParser) name() string {
	if quoted, err := strconv.QuotedPrefix(t.rest); err == nil && quoted[0] == '"' {
		t.rest = t.rest[len(quoted):]
		name, _ := strconv.Unquote(quoted)
		return name
	}
	at := strings.IndexByte(t.rest, ' ')
	if at < 1 {
		t.fail()
		return ""
	}
	name := t.rest[:at]
	t.rest = t.rest[at:]
	return name
}

// parse reads a type, within as many others as depth says. An error is in err.
func (t *typeParser) parse(depth int) (s *Shape) {
	s = &Shape{}
	if depth > NestedMost || t.err != nil {
		return t.fail()
	}
	whole := t.rest
	defer func() { s.Text = whole[:len(whole)-len(t.rest)] }()
	switch {
	case t.cut("{"):
		s.Kind = reflect.Struct
		t.fields(s, depth)
	case t.cbor && t.cut("[]"):
		s.Kind, s.Elem = reflect.Slice, t.parse(depth+1)
	case t.cbor && t.cut("*"):
		s.Kind, s.Elem = reflect.Pointer, t.parse(depth+1)
	case t.cbor && t.cut("map["):
		s.Kind, s.Key = reflect.Map, t.parse(depth+1)
		t.must("]")
		s.Elem = t.parse(depth + 1)
	case t.cut("["):
		s.Kind, s.Len = reflect.Array, t.number()
		t.must("]")
		s.Elem = t.parse(depth + 1)
		if s.Elem.Size > 0 && s.Len > sizeMax/s.Elem.Size {
			return t.fail()
		}
		s.Size = s.Len * s.Elem.Size
	case t.cbor && strings.HasPrefix(t.rest, `"`):
		quoted, err := strconv.QuotedPrefix(t.rest)
		if err != nil {
			return t.fail()
		}
		t.rest = t.rest[len(quoted):]
	case !t.cbor && t.cut("handle"):
		s.Kind, s.Size, s.Handle = reflect.Uint64, 8, true
	default:
		n := len(t.rest) - len(strings.TrimLeft(t.rest, "abcdefghijklmnopqrstuvwxyz0123456789"))
		for kind, size := range sizes {
			if size > 0 && reflect.Kind(kind).String() == t.rest[:n] {
				s.Kind, s.Size = reflect.Kind(kind), size
			}
		}
		if t.cbor && t.rest[:n] == "string" {
			s.Kind = reflect.String
		}
		if s.Kind == reflect.Invalid {
			return t.fail()
		}
		if t.rest = t.rest[n:]; IsInteger(s.Kind) && strings.HasPrefix(t.rest, `"`) {
			s.Enum = t.enum(s.Kind)
		}
	}
	s.Enums = s.Enum != nil || s.Elem != nil && s.Elem.Enums || s.Key != nil && s.Key.Enums
	for _, f := range s.Fields {
		s.Enums = s.Enums || f.Enums
	}
	return s
}

// fields reads the fields of a struct, and what follows them. An error is in err.
func (t *typeParser) fields(s *Shape, depth int) {
	end, known := 0, map[string]bool{}
	for t.err == nil && !t.cut("}") {
		if !t.cbor && t.rest != "" && t.rest[0] >= '0' && t.rest[0] <= '9' {
			if s.Size = t.number(); s.Size < end {
				t.fail()
			}
			t.must("}")
			return
		}
		f := Field{Name: t.name()}
		t.must(" ")
		f.Shape = t.parse(depth + 1)
		if !t.cbor {
			t.must("@")
			f.At = t.number()
		}
		t.must(";")
		if f.At < end || known[f.Name] {
			t.fail()
		}
		known[f.Name] = true
		if end = f.At + f.Size; t.cbor {
			end = 0
		}
		s.Fields = append(s.Fields, f)
	}
	if !t.cbor {
		t.fail() // its size is missing
	}
}

// ErrShort is returned for bytes that end within a value.
var ErrShort = errors.New("a value ends before its last field")

// Cut splits off the bytes of a part from the front of src, without copying them. The error is
// ErrShort.
func Cut(src []byte, p *form.Part) (body, rest []byte, err error) {
	n := uint64(p.Size)
	if p.ByCodec {
		if len(src) < 4 {
			return nil, nil, ErrShort
		}
		n, src = uint64(binary.LittleEndian.Uint32(src)), src[4:]
	}
	if n > uint64(len(src)) {
		return nil, nil, ErrShort
	}
	return src[:n:n], src[n:], nil
}

// Skipper passes over values, of which it needs only the parts that are written of each. Of a
// form.Form it is the half that reads.
//
// Ownership: immutable.
type Skipper struct {
	form.Form // nil
	parts     []form.Part
	least     int
	fixed     bool
}

// Skip returns a Skipper of values with these parts. It is enough to pass over what nobody needs.
func Skip(parts []form.Part) *Skipper {
	s := &Skipper{parts: parts, fixed: true}
	for _, p := range parts {
		if s.least += p.Size; p.ByCodec {
			s.least, s.fixed = s.least+4, false
		}
	}
	return s
}

// Least returns how many bytes a value takes at least.
func (s *Skipper) Least() int { return s.least }

// Fixed reports whether each value takes as many bytes: all of it is written as memory.
func (s *Skipper) Fixed() bool { return s.fixed }

// ByCodec reports false: nothing is called.
func (s *Skipper) ByCodec() bool { return false }

// Read passes over a value at the beginning of src, and returns what follows it, or an error if src
// ends before it does. It stores nothing.
func (s *Skipper) Read(src []byte, _ mem.Cells) (rest []byte, err error) {
	for i := range s.parts {
		if _, src, err = Cut(src, &s.parts[i]); err != nil {
			return nil, err
		}
	}
	return src, nil
}

// ReadAll passes over as many values as there are cells. It stores nothing. The error is ErrShort.
func (s *Skipper) ReadAll(src []byte, values mem.Cells) (rest []byte, err error) {
	if s.fixed {
		if s.least > 0 && values.Len > len(src)/s.least {
			return nil, ErrShort
		}
		return src[s.least*values.Len:], nil
	}
	for range values.Len {
		if src, err = s.Read(src, values); err != nil {
			return nil, err
		}
	}
	return src, nil
}

// What follows reads and writes numbers as they are in memory.

// sizes are the sizes of kinds that are written as memory.
var sizes = [...]int{
	reflect.Bool: 1, reflect.Int: bits.UintSize / 8, reflect.Int8: 1, reflect.Int16: 2, reflect.Int32: 4, reflect.Int64: 8,
	reflect.Uint: bits.UintSize / 8, reflect.Uint8: 1, reflect.Uint16: 2, reflect.Uint32: 4, reflect.Uint64: 8,
	reflect.Uintptr: bits.UintSize / 8, reflect.Float32: 4, reflect.Float64: 8, reflect.Complex64: 8, reflect.Complex128: 16,
}

// SizeOf returns the size of a kind that is written as memory.
func SizeOf(k reflect.Kind) int { return sizes[k] }

// Exact returns how many bits of an integer a kind of number holds exactly, and whether it holds
// negative ones, too.
func Exact(k reflect.Kind) (width int, signed bool) {
	switch {
	case k == reflect.Float32:
		return 24, true
	case k == reflect.Float64:
		return 53, true
	case k >= reflect.Int && k <= reflect.Int64:
		return sizes[k]*8 - 1, true
	}
	return sizes[k] * 8, false
}

// IsNumber reports whether a kind is an integer or a float.
func IsNumber(k reflect.Kind) bool { return k >= reflect.Int && k <= reflect.Float64 }

// IsInteger reports whether a kind is an integer.
func IsInteger(k reflect.Kind) bool { return k >= reflect.Int && k <= reflect.Uint64 }

// IsFloat reports whether a kind is a float.
func IsFloat(k reflect.Kind) bool { return k == reflect.Float32 || k == reflect.Float64 }

// Lossless reports whether a kind of number holds each value of another.
func Lossless(from, to reflect.Kind) bool {
	a, negative := Exact(from)
	b, signed := Exact(to)
	return a <= b && (signed || !negative) && (IsFloat(to) || !IsFloat(from))
}

// Numbers reads numbers that are apart bytes from each other: signed ones as int64, others as
// uint64, floats as float64. src must have them all.
func Numbers(to []uint64, kind reflect.Kind, src []byte, apart int) {
	ne := binary.NativeEndian
	size, signed := sizes[kind], kind <= reflect.Int64
	switch {
	case kind == reflect.Float32:
		for i := range to {
			to[i] = math.Float64bits(float64(math.Float32frombits(ne.Uint32(src[i*apart:]))))
		}
	case kind == reflect.Bool:
		for i := range to {
			to[i] = uint64(src[i*apart] & 1)
		}
	case size == 8:
		for i := range to {
			to[i] = ne.Uint64(src[i*apart:])
		}
	case size == 4 && signed:
		for i := range to {
			to[i] = uint64(int32(ne.Uint32(src[i*apart:])))
		}
	case size == 4:
		for i := range to {
			to[i] = uint64(ne.Uint32(src[i*apart:]))
		}
	default:
		shift := 64 - 8*size
		for i := range to {
			v := uint64(src[i*apart])
			if size == 2 {
				v = uint64(ne.Uint16(src[i*apart:]))
			}
			if to[i] = v; signed {
				to[i] = uint64(int64(v<<shift) >> shift)
			}
		}
	}
}

// PutNumbers writes numbers as Numbers would read them. dst must have room for all.
func PutNumbers(all []uint64, kind reflect.Kind, dst []byte, apart int) {
	ne := binary.NativeEndian
	switch size := sizes[kind]; {
	case kind == reflect.Float32:
		for i, v := range all {
			ne.PutUint32(dst[i*apart:], math.Float32bits(float32(math.Float64frombits(v))))
		}
	case size == 8:
		for i, v := range all {
			ne.PutUint64(dst[i*apart:], v)
		}
	case size == 4:
		for i, v := range all {
			ne.PutUint32(dst[i*apart:], uint32(v))
		}
	case size == 2:
		for i, v := range all {
			ne.PutUint16(dst[i*apart:], uint16(v))
		}
	default:
		for i, v := range all {
			dst[i*apart] = byte(v)
		}
	}
}
