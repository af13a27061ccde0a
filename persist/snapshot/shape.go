package snapshot

import (
	"fmt"
	"math/bits"
	"reflect"
	"strconv"
	"strings"
)

// This file reads the descriptions of types in the section of names. None of them is trusted.

// shape is a type as a snapshot describes it: as memory, or as
// CBOR.
type shape struct {
	kind   reflect.Kind // Invalid if only its codec can read it
	text   string
	handle bool // the type, a uint64, is a handle
	size   int  // in memory
	n      int  // of an array
	elem   *shape
	key    *shape // of a map
	fields []shapeField
}

type shapeField struct {
	name string
	at   int // in memory
	*shape
}

// leaf is a field with a description of its own: a number, an array, or something that a codec,
// text or CBOR writes.
type leaf struct {
	path string // without the type, such as Place.X; empty if the value is not a struct
	part int    // of the form
	at   int    // in the part
	how  writtenBy
	*shape
}

// writtenBy says how a field is written.
type writtenBy uint8

const (
	asMemory writtenBy = iota
	asText
	asCBOR
	byCodec
)

const (
	ofCodec = ", by a codec"
	ofCBOR  = ", as CBOR"
	// nestedMost bounds how deep a type may be nested.
	nestedMost = 64
)

// layout returns the fields of a value.
func (n *named) layout() (all []leaf, err error) {
	known, end := map[string]bool{}, 0
	for i, p := range n.parts {
		if p.Offset < end || p.Size > sectionMax-p.Offset || p.ByCodec && (len(p.Fields) != 1 || p.Size != 0) {
			return nil, fmt.Errorf("part %d of a %s is at byte %d, with %d bytes and %d fields", i, n.typ, p.Offset, p.Size, len(p.Fields))
		}
		at := p.Offset
		for _, f := range p.Fields {
			x := leaf{path: pathWithin(n.typ, f.Path), part: i, at: f.Offset - p.Offset}
			if x.shape, x.how, err = parseField(f.Type); err != nil {
				return nil, fmt.Errorf("field %s: %w", f.Path, err)
			}
			switch {
			case (x.how != asMemory) != p.ByCodec:
				return nil, fmt.Errorf("field %s, a %s, is not in a part of its kind", f.Path, f.Type)
			case known[x.path]:
				return nil, fmt.Errorf("there are two fields %s", f.Path)
			case f.Offset < at || f.Offset > sectionMax || !p.ByCodec && x.size > p.Offset+p.Size-f.Offset:
				return nil, fmt.Errorf("field %s, a %s, is at byte %d, outside of its place", f.Path, f.Type, f.Offset)
			}
			known[x.path] = true
			at = f.Offset + x.size
			all = append(all, x)
		}
		end = p.Offset + p.Size
	}
	return all, nil
}

// pathWithin returns a path without the type at its beginning.
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

// parseField reads the type of a field.
func parseField(text string) (s *shape, how writtenBy, err error) {
	if name, ok := strings.CutSuffix(text, ofCodec); ok {
		return &shape{text: name}, byCodec, nil
	}
	if text == "string" {
		return &shape{kind: reflect.String, text: text}, asText, nil
	}
	p := typeParser{}
	if p.rest, p.cbor = strings.CutSuffix(text, ofCBOR); p.cbor {
		how = asCBOR
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
type typeParser struct {
	rest string
	cbor bool
	err  error
}

func (p *typeParser) fail() *shape {
	if p.err == nil {
		p.err = fmt.Errorf("no type is %.40q", p.rest)
	}
	return &shape{}
}

// cut removes a text from the front, or reports that it is not there.
func (p *typeParser) cut(text string) (ok bool) {
	p.rest, ok = strings.CutPrefix(p.rest, text)
	return ok
}

func (p *typeParser) must(text string) {
	if !p.cut(text) {
		p.fail()
	}
}

// number reads digits.
func (p *typeParser) number() int {
	n := len(p.rest) - len(strings.TrimLeft(p.rest, "0123456789"))
	v, err := strconv.ParseUint(p.rest[:n], 10, 30)
	if err != nil {
		p.fail()
		return 0
	}
	p.rest = p.rest[n:]
	return int(v)
}

// name reads the name of a field, which is in quotes if it is no identifier.
func (p *typeParser) name() string {
	if quoted, err := strconv.QuotedPrefix(p.rest); err == nil && quoted[0] == '"' {
		p.rest = p.rest[len(quoted):]
		name, _ := strconv.Unquote(quoted)
		return name
	}
	at := strings.IndexByte(p.rest, ' ')
	if at < 1 {
		p.fail()
		return ""
	}
	name := p.rest[:at]
	p.rest = p.rest[at:]
	return name
}

func (p *typeParser) parse(depth int) (s *shape) {
	s = &shape{}
	if depth > nestedMost || p.err != nil {
		return p.fail()
	}
	whole := p.rest
	defer func() { s.text = whole[:len(whole)-len(p.rest)] }()
	switch {
	case p.cut("{"):
		s.kind = reflect.Struct
		p.fields(s, depth)
	case p.cbor && p.cut("[]"):
		s.kind, s.elem = reflect.Slice, p.parse(depth+1)
	case p.cbor && p.cut("*"):
		s.kind, s.elem = reflect.Pointer, p.parse(depth+1)
	case p.cbor && p.cut("map["):
		s.kind, s.key = reflect.Map, p.parse(depth+1)
		p.must("]")
		s.elem = p.parse(depth + 1)
	case p.cut("["):
		s.kind, s.n = reflect.Array, p.number()
		p.must("]")
		s.elem = p.parse(depth + 1)
		if s.elem.size > 0 && s.n > sectionMax/s.elem.size {
			return p.fail()
		}
		s.size = s.n * s.elem.size
	case p.cbor && strings.HasPrefix(p.rest, `"`):
		quoted, err := strconv.QuotedPrefix(p.rest)
		if err != nil {
			return p.fail()
		}
		p.rest = p.rest[len(quoted):]
	case !p.cbor && p.cut("handle"):
		s.kind, s.size, s.handle = reflect.Uint64, 8, true
	default:
		n := len(p.rest) - len(strings.TrimLeft(p.rest, "abcdefghijklmnopqrstuvwxyz0123456789"))
		for kind, size := range kindSizes {
			if size > 0 && reflect.Kind(kind).String() == p.rest[:n] {
				s.kind, s.size = reflect.Kind(kind), size
			}
		}
		if p.cbor && p.rest[:n] == "string" {
			s.kind = reflect.String
		}
		if s.kind == reflect.Invalid {
			return p.fail()
		}
		p.rest = p.rest[n:]
	}
	return s
}

// fields reads the fields of a struct, and what follows them.
func (p *typeParser) fields(s *shape, depth int) {
	end, known := 0, map[string]bool{}
	for p.err == nil && !p.cut("}") {
		if !p.cbor && p.rest != "" && p.rest[0] >= '0' && p.rest[0] <= '9' {
			if s.size = p.number(); s.size < end {
				p.fail()
			}
			p.must("}")
			return
		}
		f := shapeField{name: p.name()}
		p.must(" ")
		f.shape = p.parse(depth + 1)
		if !p.cbor {
			p.must("@")
			f.at = p.number()
		}
		p.must(";")
		if f.at < end || known[f.name] {
			p.fail()
		}
		known[f.name] = true
		if end = f.at + f.size; p.cbor {
			end = 0
		}
		s.fields = append(s.fields, f)
	}
	if !p.cbor {
		p.fail() // its size is missing
	}
}

// kindSizes are the sizes of kinds that are written as memory.
var kindSizes = [...]int{
	reflect.Bool: 1, reflect.Int: bits.UintSize / 8, reflect.Int8: 1, reflect.Int16: 2, reflect.Int32: 4, reflect.Int64: 8,
	reflect.Uint: bits.UintSize / 8, reflect.Uint8: 1, reflect.Uint16: 2, reflect.Uint32: 4, reflect.Uint64: 8,
	reflect.Uintptr: bits.UintSize / 8, reflect.Float32: 4, reflect.Float64: 8, reflect.Complex64: 8, reflect.Complex128: 16,
}

// exact returns how many bits of an integer a kind of number holds, and whether negative ones, too.
func exact(k reflect.Kind) (width int, signed bool) {
	switch {
	case k == reflect.Float32:
		return 24, true
	case k == reflect.Float64:
		return 53, true
	case k >= reflect.Int && k <= reflect.Int64:
		return kindSizes[k]*8 - 1, true
	}
	return kindSizes[k] * 8, false
}

// isNumber reports whether a kind is an integer or a float.
func isNumber(k reflect.Kind) bool { return k >= reflect.Int && k <= reflect.Float64 }

func isFloat(k reflect.Kind) bool { return k == reflect.Float32 || k == reflect.Float64 }

// lossless reports whether a kind of number holds each value of another.
func lossless(from, to reflect.Kind) bool {
	a, negative := exact(from)
	b, signed := exact(to)
	return a <= b && (signed || !negative) && (isFloat(to) || !isFloat(from))
}
