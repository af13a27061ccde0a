// Package schema reads values that were saved in another form than they have now: it finds what
// changed, by the names of fields and the Changes of the program, and converts what it can.
package schema

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/atoll-sim/atoll/internal/form"

	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/cbor"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/shape"
)

// Side is a form of a type: the saved one, or the world's.
type Side struct {
	Name   string // by which Changes call what has the type
	Also   string // another such name, or empty
	Loss   Loss   // of the saved form: what is lost with the values
	Type   string
	Parts  []form.Part
	Leaves []shape.Leaf // the fields in the parts
	Same   bool         // of the saved form: the world's has the same shape
}

// Loss says what is lost if something is dropped.
type Loss struct {
	Count int
	Of    string // what is counted, in capitals and the plural; empty if nothing is
	In    bool   // that is what has a value; otherwise it is lost itself
	Alone string // what is lost if nothing is counted
	Keep  string // how to lose nothing
}

// Whole describes the loss after a word, or returns none if nothing is lost.
func (l Loss) Whole(word, none string) string {
	switch {
	case l.Of == "":
		return word + l.Alone
	case l.Count == 0:
		return none
	case l.In:
		return word + "IT IN " + l.counted()
	}
	return word + l.counted()
}

// field is Whole for a field.
func (l Loss) field(word, none string) string {
	switch {
	case l.Of == "":
		return word + "IT"
	case l.Count == 0:
		return none
	}
	return word + "IT IN " + l.counted()
}

// counted returns the number with what is counted.
func (l Loss) counted() string {
	if l.Count != 1 {
		return fmt.Sprintf("%d %s", l.Count, l.Of)
	}
	if one, ok := map[string]string{"ENTITIES": "ENTITY", "CHILDREN": "CHILD"}[l.Of]; ok {
		return "1 " + one
	}
	return "1 " + strings.TrimSuffix(l.Of, "S")
}

// Note says what becomes of a field, or of all of them.
type Note struct {
	Field, Was, Is, Text string
	Blocks               bool
	Undeclared           *shape.Leaf // what reads constants with names as plain numbers, or nil
}

// Convert returns a form that reads values of the saved form as values of own, which form reads. It
// is nil for the notes alone. Some of them may say that this must not be. It only compares; the
// form that it returns converts, for each value of a load.
func Convert(changes Changes, saved, own Side, form form.Form) (form.Form, []Note) {
	p := &pairing{rules: changes.rulesOf([]string{saved.Name, own.Name, saved.Also, own.Also}, paths(saved.Leaves), paths(own.Leaves)), loss: saved.Loss}
	return p.convert(saved, own, form), p.notes
}

// pairing is the comparison of a saved form with the world's.
//
// Ownership: the goroutine that plans or loads.
type pairing struct {
	rules *fieldRules
	notes []Note
	loss  Loss // with a value
}

// note adds a difference.
func (p *pairing) note(field, was, is string, refused bool, text string, args ...any) {
	was, is = shape.WithoutEnums(was), shape.WithoutEnums(is)
	p.notes = append(p.notes, Note{Field: field, Was: was, Is: is, Text: fmt.Sprintf(text, args...), Blocks: refused})
}

// say returns a Change, as Go code, for an error to suggest.
func (p *pairing) say(how, path string, more ...string) string {
	all := append([]string{strconv.Quote(p.rules.subjects[1]), strconv.Quote(path)}, more...)
	return fmt.Sprintf("%s(%s)", how, strings.Join(all, ", "))
}

// sayDropped returns the Change that drops a field, with what that loses.
func (p *pairing) sayDropped(path string) string {
	return p.say("Dropped", path) + p.loss.field(" LOSES ", " loses nothing")
}

// convert returns a converter that reads values of one form as values of another, and notes what it
// leaves out or cannot convert.
func (p *pairing) convert(saved, own Side, form form.Form) *converter {
	c := newConverter(saved.Parts, own.Parts, form)
	p.match(saved.Leaves, own.Leaves, func(s, o *shape.Leaf) {
		x := &c.parts[s.Part]
		switch {
		case s.How != o.How || s.How == shape.ByCodec && p.rules.codecName(s.Text) != o.Text:
			p.refuse(s, o, s.How == shape.ByCodec || o.How == shape.ByCodec)
			return
		case s.How == shape.AsMemory:
			steps, _ := p.pair(s, o)
			for i := range steps {
				steps[i].part = o.Part
			}
			x.steps = joined(append(x.steps, steps...))
			return
		case s.How == shape.AsCBOR:
			_, x.rewrite = p.pair(s, o)
		}
		if x.rewrite != leftOut {
			x.to = o.Part
		}
	})
	if len(p.notes) == 0 && !saved.Same {
		size := 0
		for _, x := range saved.Parts {
			size += x.Size
		}
		p.note("", fmt.Sprintf("%d bytes", size), own.Type, false, "its fields are at other places in memory")
	}
	return c
}

// match calls pair for the fields that both have, by their present paths. It notes those that are
// new and those that are gone, and returns the latter.
func (p *pairing) match(saved, own []shape.Leaf, pair func(s, o *shape.Leaf)) (gone []*shape.Leaf) {
	byPath := map[string]*shape.Leaf{}
	for i := range saved {
		byPath[p.rules.path(saved[i].Path)] = &saved[i]
	}
	for i := range own {
		o := &own[i]
		s := byPath[o.Path]
		if s == nil {
			p.note(o.Path, "", o.Text, false, "is new, and begins at zero")
			continue
		}
		delete(byPath, o.Path)
		if s.Path != o.Path && p.rules.paths[s.Path] == o.Path {
			p.note(s.Path, s.Text, s.Text, false, "is %s now", o.Path)
		}
		pair(s, o)
	}
	for i := range saved {
		s := &saved[i]
		now := p.rules.path(s.Path)
		if byPath[now] != s {
			continue
		}
		if gone = append(gone, s); p.rules.drop(s.Path, now) {
			p.note(s.Path, s.Text, "", false, "is dropped%s", p.loss.field(", WHICH LOSES ", ""))
		} else {
			p.note(s.Path, s.Text, "", true, "is not in this world: say %s, or give a Migrated; %s", p.say("RenamedField", s.Path, "…"), p.sayDropped(s.Path))
		}
	}
	return gone
}

// refuse notes that a type cannot become another.
func (p *pairing) refuse(s, o *shape.Leaf, codec bool) {
	switch drop := p.sayDropped(s.Path); {
	case p.rules.drop(s.Path, o.Path):
		p.note(s.Path, s.Text, o.Text, false, "is dropped%s, and begins at zero", p.loss.field(", WHICH LOSES ", ""))
	case codec && s.Kind == o.Kind:
		p.note(s.Path, s.Text, o.Text, true, "is written by another codec: say Renamed(%q, %q) if it reads what the old one wrote, or give a Migrated; %s", s.Text, o.Text, drop)
	case shape.IsNumber(s.Kind) && shape.IsNumber(o.Kind), isComplex(s.Kind) && isComplex(o.Kind), s.Kind == o.Kind && s.Len > o.Len:
		p.note(s.Path, s.Text, o.Text, true, "does not hold each of its values: give a Migrated; %s", drop)
	default:
		p.note(s.Path, s.Text, o.Text, true, "does not become that by itself: give a Migrated; %s", drop)
	}
}

// pair compares a field of both forms. If it is memory, pair returns the steps that copy it. If it
// is CBOR, in which a type finds fields by their names, pair returns what must be changed in it:
// nil for nothing, and leftOut if the other type can read nothing of it.
func (p *pairing) pair(s, o *shape.Leaf) ([]step, *rewriting) {
	memory, kind, as, n := s.How == shape.AsMemory, s.Kind, o.Kind, 1
	if isComplex(kind) && isComplex(as) {
		kind, as, n = kind-reflect.Complex64+reflect.Float32, as-reflect.Complex64+reflect.Float32, 2
	}
	number := []step{{from: s.At, to: o.At, n: n, kind: kind, as: as}}
	if r := p.constants(s, o); r != nil && shape.Lossless(kind, as) {
		if number[0].numbers = r; kind != as {
			p.note(s.Path, s.Text, o.Text, false, "is converted")
		}
		return number, &rewriting{numbers: r}
	}
	switch same := s.Kind == o.Kind; {
	case !memory && s.Text == o.Text && len(p.rules.paths) == 0 && !s.Enums:
		return nil, nil
	case same && kind == reflect.Struct:
		return p.fields(s, o)
	case same && kind == reflect.Invalid: // both write themselves
		was, _ := strconv.Unquote(s.Text)
		if is, _ := strconv.Unquote(o.Text); is != p.rules.codecName(was) {
			p.refuse(inner(s, &shape.Shape{Text: was}), inner(o, &shape.Shape{Text: is}), true)
			return nil, leftOut
		}
		return nil, nil
	case same && kind == reflect.Array && s.Len > o.Len:
	case !memory && same && s.IsBytes() == o.IsBytes():
		return nil, p.elements(s, o)
	case memory && same && kind == reflect.Array:
		return p.array(s, o), nil
	case memory && same && kind == reflect.Bool:
		return number, nil
	case memory && same:
		return []step{{from: s.At, to: o.At, n: s.Size}}, nil
	case !shape.IsNumber(kind) || !shape.IsNumber(as):
	case shape.Lossless(kind, as):
		p.note(s.Path, s.Text, o.Text, false, "is converted")
		return number, nil
	}
	p.refuse(s, o, false)
	return nil, leftOut
}

// isComplex reports whether a kind is a complex number.
func isComplex(k reflect.Kind) bool { return k == reflect.Complex64 || k == reflect.Complex128 }

// inner returns something in a field, at the beginning of its memory.
func inner(x *shape.Leaf, s *shape.Shape) *shape.Leaf {
	return &shape.Leaf{Path: x.Path, How: x.How, Shape: s}
}

// array is pair for arrays in memory. It returns the steps that copy the elements.
func (p *pairing) array(s, o *shape.Leaf) []step {
	if s.Len < o.Len {
		p.note(s.Path, s.Text, o.Text, false, "is longer; what is new begins at zero")
	}
	x := step{from: s.At, to: o.At, n: s.Len, each: [2]int{s.Elem.Size, o.Elem.Size}}
	x.elements, _ = p.pair(inner(s, s.Elem), inner(o, o.Elem))
	switch {
	case len(x.elements) == 0 || x.n == 0:
		return nil
	case len(x.elements) > 1:
		return []step{x}
	}
	if e := x.elements[0]; e.copies() && e.n == s.Elem.Size && e.n == o.Elem.Size {
		x.n, x.elements = x.n*e.n, nil
	} else if e.elements == nil && !e.copies() && e.n == 1 && (shape.IsNumber(s.Elem.Kind) || s.Elem.Kind == reflect.Bool) {
		x.kind, x.as, x.numbers, x.elements = e.kind, e.as, e.numbers, nil
	}
	return []step{x}
}

// elements is pair for what has elements in CBOR: arrays, slices, maps and pointers. It returns
// what must be changed in them.
func (p *pairing) elements(s, o *shape.Leaf) *rewriting {
	if s.Elem == nil {
		return nil
	}
	if s.Kind == reflect.Array && s.Len < o.Len {
		p.note(s.Path, s.Text, o.Text, false, "is longer; what is new begins at zero")
	}
	x := &rewriting{}
	if s.Kind == reflect.Map {
		_, key := p.pair(inner(s, s.Key), inner(o, o.Key))
		if key == leftOut {
			return leftOut
		} else if key != nil {
			x.keys = key.numbers
		}
	}
	_, x.elem = p.pair(inner(s, s.Elem), inner(o, o.Elem))
	if x.elem == leftOut || x.keys == nil && (x.elem == nil || s.Kind == reflect.Pointer) {
		return x.elem
	}
	return x
}

// fields is pair for structs.
func (p *pairing) fields(s, o *shape.Leaf) (steps []step, x *rewriting) {
	x = &rewriting{fields: map[string]fieldRewriting{}}
	gone := p.match(fieldsOf(s), fieldsOf(o), func(f, g *shape.Leaf) {
		some, inner := p.pair(f, g)
		steps = append(steps, some...)
		switch key := string(cbor.Key(f.Name)); {
		case inner == leftOut:
			x.fields[key] = fieldRewriting{}
		case inner != nil || f.Name != g.Name:
			x.fields[key] = fieldRewriting{key: cbor.Key(g.Name), rewriting: inner}
		}
	})
	for _, f := range gone {
		x.fields[string(cbor.Key(f.Name))] = fieldRewriting{}
	}
	if len(x.fields) == 0 {
		x = nil
	}
	return joined(steps), x
}

// fieldsOf returns the fields of a struct that is a field, or within one.
func fieldsOf(x *shape.Leaf) (all []shape.Leaf) {
	for _, f := range x.Fields {
		all = append(all, shape.Leaf{Path: join(x.Path, f.Name), Name: f.Name, At: x.At + f.At, How: x.How, Shape: f.Shape})
	}
	return all
}

// joined merges copies of adjacent bytes into one step.
func joined(steps []step) (all []step) {
	for _, x := range steps {
		if n := len(all); n > 0 && x.copies() && all[n-1].copies() && all[n-1].part == x.part && all[n-1].from+all[n-1].n == x.from && all[n-1].to+all[n-1].n == x.to {
			all[n-1].n += x.n
			continue
		}
		all = append(all, x)
	}
	return all
}

// copies reports whether a step copies bytes.
func (s *step) copies() bool { return s.elements == nil && s.as == reflect.Invalid }

// join returns the path of a field in something with a path.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// paths lists the paths of fields and of the fields within them, for the rules of renames.
func paths(all []shape.Leaf) (list []string) {
	var add func(path string, s *shape.Shape)
	add = func(path string, s *shape.Shape) {
		if s.Elem != nil {
			add(path, s.Elem)
		}
		for _, f := range s.Fields {
			list = append(list, join(path, f.Name))
			add(join(path, f.Name), f.Shape)
		}
	}
	for _, x := range all {
		list = append(list, x.Path)
		add(x.Path, x.Shape)
	}
	return list
}

// What follows converts values, as the comparison has found.

// converter is a form.Form that reads values written by another form of the type. Each component
// has one. Immutable.
type converter struct {
	form.Form             // of the world's type
	own       []form.Part // of it
	parts     []savedPart
	least     int
	flat      bool // values were saved as memory alone, and are only memory now
}

// savedPart is a part of the saved form, and where it goes.
type savedPart struct {
	form.Part
	to      int // of a codec's bytes: the part of the world's form, or -1
	rewrite *rewriting
	steps   []step // of the bytes that are memory
}

// step copies bytes, numbers or elements of an array from a place in a row to one in another.
//
// Ownership: immutable once it is made; any goroutine may use it.
type step struct {
	part     int // of the world's form, to which it copies
	from, to int
	n        int // bytes, numbers or elements
	kind     reflect.Kind
	as       reflect.Kind // of numbers: what they become; Invalid to copy bytes
	numbers  *renumbering // or nil
	elements []step       // of an array whose elements are converted
	each     [2]int       // how far apart the elements are
}

// newConverter returns a converter that reads values of the saved parts and keeps nothing of them:
// convert says where they go.
func newConverter(saved, own []form.Part, form form.Form) *converter {
	bytes := shape.Skip(saved)
	c := &converter{Form: form, own: own, least: bytes.Least()}
	for _, p := range saved {
		c.parts = append(c.parts, savedPart{Part: p, to: -1})
	}
	c.flat = bytes.Fixed() && len(saved) <= 1 && len(c.own) == 1 && !c.own[0].ByCodec
	return c
}

// Least returns how many bytes a saved value takes at least.
func (c *converter) Least() int { return c.least }

// ReadAll reads values. It reads values of numbers step by step, each step for all values. A load
// calls it on several goroutines. After an error some values may have been read.
func (c *converter) ReadAll(src []byte, values mem.Cells) (rest []byte, err error) {
	if !c.flat || values.Len == 0 {
		for i := range values.Len {
			if src, err = c.Read(src, values.At(i)); err != nil {
				return nil, err
			}
		}
		return src, nil
	}
	if c.least > 0 && values.Len > len(src)/c.least {
		return nil, shape.ErrShort
	}
	clear(values.Bytes)
	for _, p := range c.parts {
		for i := range p.steps {
			if err = p.steps[i].run(values.Bytes, src, values.Len, len(values.Bytes)/max(values.Len, 1), c.least); err != nil {
				return nil, err
			}
		}
	}
	return src[c.least*values.Len:], nil
}

// Read reads one value. After an error some of its fields may have been read.
func (c *converter) Read(src []byte, value mem.Cells) (rest []byte, err error) {
	for i := range c.own {
		if p := &c.own[i]; !p.ByCodec && p.Size > 0 {
			clear(value.PartBytes(uintptr(p.Offset), uintptr(p.Size)))
		}
	}
	for i := range c.parts {
		p := &c.parts[i]
		var body []byte
		if body, src, err = shape.Cut(src, &p.Part); err != nil {
			return nil, err
		}
		for k := range p.steps {
			to := &c.own[p.steps[k].part]
			if err = p.steps[k].run(value.PartBytes(uintptr(to.Offset), uintptr(to.Size)), body, 1, 0, 0); err != nil {
				return nil, err
			}
		}
		if p.to < 0 {
			continue
		}
		if p.rewrite != nil {
			if body, err = p.rewrite.all(body); err != nil {
				return nil, err
			}
		}
		if err = c.ReadPart(p.to, body, value); err != nil {
			return nil, err
		}
	}
	return src, nil
}

// run makes a step for n values, which are that many bytes apart. The error is about a
// number whose meaning nobody knows.
func (s *step) run(dst, src []byte, n, apartTo, apartFrom int) error {
	switch {
	case s.elements != nil:
		for i := range n {
			to, from := dst[s.to+i*apartTo:], src[s.from+i*apartFrom:]
			for k := range s.elements {
				if err := s.elements[k].run(to, from, s.n, s.each[1], s.each[0]); err != nil {
					return err
				}
			}
		}
	case s.as == reflect.Invalid:
		for i := range n {
			to, from := dst[s.to+i*apartTo:], src[s.from+i*apartFrom:]
			switch s.n {
			case 8:
				binary.NativeEndian.PutUint64(to, binary.NativeEndian.Uint64(from))
			case 4:
				binary.NativeEndian.PutUint32(to, binary.NativeEndian.Uint32(from))
			default:
				copy(to[:s.n], from)
			}
		}
	case s.n == 1:
		return s.convert(dst[s.to:], src[s.from:], n, apartTo, apartFrom)
	default:
		for i := range n {
			if err := s.convert(dst[s.to+i*apartTo:], src[s.from+i*apartFrom:], s.n, shape.SizeOf(s.as), shape.SizeOf(s.kind)); err != nil {
				return err
			}
		}
	}
	return nil
}

// numbersAtOnce is how many numbers are converted at once, so that the switches over kinds run
// once for all of them.
const numbersAtOnce = 256

// convert converts n numbers that are that many bytes apart. The other kind holds each of them. The
// error is about a number whose meaning nobody knows.
func (s *step) convert(dst, src []byte, n, apartTo, apartFrom int) error {
	var block [numbersAtOnce]uint64
	for n > 0 {
		some := block[:min(n, len(block))]
		shape.Numbers(some, s.kind, src, apartFrom)
		if s.numbers != nil {
			for i, v := range some {
				is, err := s.numbers.number(int64(v))
				if err != nil {
					return err
				}
				some[i] = uint64(is)
			}
		}
		if shape.IsFloat(s.as) && !shape.IsFloat(s.kind) {
			for i, v := range some {
				if some[i] = math.Float64bits(float64(v)); s.kind <= reflect.Int64 {
					some[i] = math.Float64bits(float64(int64(v)))
				}
			}
		}
		shape.PutNumbers(some, s.as, dst, apartTo)
		if n -= len(some); n > 0 {
			dst, src = dst[len(some)*apartTo:], src[len(some)*apartFrom:]
		}
	}
	return nil
}

// What follows renames and removes fields in CBOR, and renumbers constants. Nothing else has to be
// changed in it, because package state reads fields by name: new fields are zero, and each number is
// read by a type that holds it.

// rewriting says what is changed in a value; nil for nothing.
//
// Ownership: immutable once it is made; any goroutine may use it.
type rewriting struct {
	fields  map[string]fieldRewriting // of a struct, by the CBOR of the saved name
	elem    *rewriting                // of an array, slice or map
	keys    *renumbering              // of a map, or nil
	numbers *renumbering              // of an integer, or nil
}

type fieldRewriting struct {
	key []byte // the CBOR of the name; nil to leave it out
	*rewriting
}

// leftOut is for a value that is left out.
var leftOut = new(rewriting)

// all rewrites bytes that are one value. An error says that they are not.
func (r *rewriting) all(src []byte) (dst []byte, err error) {
	dst, rest, err := r.value(nil, src)
	if err == nil && len(rest) > 0 {
		err = cbor.Err
	}
	return dst, err
}

// value rewrites the first value of src, and returns the bytes after it. An error says that they
// are not CBOR, or is about a number whose meaning nobody knows.
func (r *rewriting) value(dst, src []byte) (out, rest []byte, err error) {
	major, n, rest, err := cbor.Head(src)
	switch {
	case err != nil:
		return nil, nil, err
	case r != nil && r.fields != nil && major == cbor.Map:
		return r.object(dst, rest, n)
	case r != nil && r.keys != nil && major == cbor.Map:
		return r.entries(dst, rest, n)
	case r != nil && r.numbers != nil:
		out, rest, _, _, err = r.numbers.integer(dst, src)
		return out, rest, err
	case r == nil || r.elem == nil || major != cbor.Array && major != cbor.Map:
		if rest, err = cbor.Skip(src); err != nil {
			return nil, nil, err
		}
		dst = append(dst, src[:len(src)-len(rest)]...)
		if r != nil && r.elem != nil && r.elem.numbers != nil && major == cbor.Bytes {
			err = r.elem.numbers.each(dst[len(dst)-int(n):])
		}
		return dst, rest, err
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

// entries rewrites the n entries of a map whose keys are constants. It leaves out those whose key is
// dropped. It returns the errors of value; ErrOtherWorld if two keys would become one, too.
func (r *rewriting) entries(dst, src []byte, n uint64) (out, rest []byte, err error) {
	var all []byte
	keys := map[int64]int64{} // what those that are kept were, by what they are
	kept := uint64(0)
	for ; n > 0; n-- {
		at := len(all)
		var was, is int64
		if all, src, was, is, err = r.keys.integer(all, src); err == nil {
			all, src, err = r.elem.value(all, src)
		}
		if err != nil {
			return nil, nil, err
		}
		if r.keys.gone[was] {
			all = all[:at]
			continue
		}
		if other, ok := keys[is]; ok && other != was {
			return nil, nil, r.keys.twice(was, other, is)
		}
		keys[is] = was
		kept++
	}
	return append(cbor.AppendHead(dst, cbor.Map, kept), all...), src, nil
}

// object rewrites the n fields of a struct. An error says that they are not CBOR.
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
