package schema

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/cbor"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/shape"
)

// This file matches two forms of a type: by the names of their fields.

// Side is a form of a type: the saved one, or the world's.
type Side struct {
	Name   string // by which Changes call what has the type
	Type   string
	Parts  []extend.Part
	Leaves []shape.Leaf // the fields in the parts
}

// Note says what becomes of a field, or of all of them.
type Note struct {
	Field, Was, Is, Text string
	Refused              bool
}

// Convert returns a form that reads values of the saved form as values of own, which form reads. It
// is nil for the notes alone. Some of them may say that this must not be.
func Convert(changes Changes, saved, own Side, form extend.Form) (extend.Form, []Note) {
	p := &pairing{rules: changes.rulesOf(saved.Name, own.Name, paths(saved.Leaves), paths(own.Leaves))}
	return p.convert(saved, own, form), p.notes
}

// pairing is the comparison of a saved form with the world's.
type pairing struct {
	rules *fieldRules
	notes []Note
}

// note adds a difference.
func (p *pairing) note(field, was, is string, refused bool, text string, args ...any) {
	p.notes = append(p.notes, Note{field, was, is, fmt.Sprintf(text, args...), refused})
}

// say returns a Change, as Go code, for an error to suggest.
func (p *pairing) say(how, path string, more ...string) string {
	all := append([]string{strconv.Quote(p.rules.subjects[1]), strconv.Quote(path)}, more...)
	return fmt.Sprintf("%s(%s)", how, strings.Join(all, ", "))
}

// convert returns a converter that reads values of one form as values of another.
func (p *pairing) convert(saved, own Side, form extend.Form) *converter {
	c := newConverter(saved.Parts, own.Parts, form)
	byPath := map[string]*shape.Leaf{}
	for i := range saved.Leaves {
		byPath[p.rules.path(saved.Leaves[i].Path)] = &saved.Leaves[i]
	}
	for i := range own.Leaves {
		o := &own.Leaves[i]
		s := byPath[o.Path]
		if s == nil {
			p.added(o.Path, o.Shape)
			continue
		}
		delete(byPath, o.Path)
		p.renamed(s.Path, o.Path, s.Shape)
		switch {
		case s.How == shape.AsMemory && o.How == shape.AsMemory:
			c.parts[s.Part].add(o.Part, p.steps(s.Path, o.Path, s.Shape, o.Shape, s.At, o.At))
		case s.How != o.How || s.How == shape.ByCodec && p.rules.codecName(s.Text) != o.Text:
			p.refuse(s.Path, o.Path, s.Shape, o.Shape, s.How == shape.ByCodec || o.How == shape.ByCodec)
		default:
			x := &c.parts[s.Part]
			if s.How == shape.AsCBOR {
				x.rewrite = p.cbor(s.Path, o.Path, s.Shape, o.Shape)
			}
			if x.rewrite != leftOut {
				x.to = o.Part
			}
		}
	}
	for i := range saved.Leaves {
		if s := &saved.Leaves[i]; byPath[p.rules.path(s.Path)] == s {
			p.removed(s.Path, s.Shape)
		}
	}
	if len(p.notes) == 0 {
		p.note("", memoryOf(saved.Parts), own.Type, false, "its fields are at other places in memory")
	}
	return c
}

// memoryOf returns how many bytes of memory a form takes.
func memoryOf(parts []extend.Part) string {
	size := 0
	for _, p := range parts {
		size += p.Size
	}
	return fmt.Sprintf("%d bytes", size)
}

// add adds steps to a part of the world's form. Steps that copy what is side by side become one.
func (s *savedPart) add(to int, steps []step) {
	if len(steps) == 0 {
		return
	}
	if n := len(s.copies); n == 0 || s.copies[n-1].to != to {
		s.copies = append(s.copies, copying{to: to})
	}
	all := &s.copies[len(s.copies)-1].steps
	*all = joined(append(*all, steps...))
}

// joined merges copies of adjacent bytes into one step.
func joined(steps []step) (all []step) {
	for _, x := range steps {
		if n := len(all); n > 0 && x.copies() && all[n-1].copies() && all[n-1].from+all[n-1].n == x.from && all[n-1].to+all[n-1].n == x.to {
			all[n-1].n += x.n
			continue
		}
		all = append(all, x)
	}
	return all
}

// copies reports whether a step copies bytes.
func (s *step) copies() bool { return s.elements == nil && s.as == reflect.Invalid }

func (p *pairing) added(path string, o *shape.Shape) {
	p.note(path, "", o.Text, false, "is new, and begins at zero")
}

func (p *pairing) renamed(saved, own string, s *shape.Shape) {
	if saved != own && p.rules.paths[saved] == own {
		p.note(saved, s.Text, s.Text, false, "is %s now", own)
	}
}

func (p *pairing) removed(path string, s *shape.Shape) {
	if p.rules.allow(Dropped, path, p.rules.path(path)) {
		p.note(path, s.Text, "", false, "is dropped")
		return
	}
	p.note(path, s.Text, "", true, "is not in this world: say %s or %s", p.say("Dropped", path), p.say("RenamedField", path, "…"))
}

// refuse notes that a type cannot become another.
func (p *pairing) refuse(saved, own string, s, o *shape.Shape, codec bool) {
	switch {
	case p.rules.allow(Dropped, saved, own):
		p.note(saved, s.Text, o.Text, false, "is dropped, and begins at zero")
	case codec && s.Kind == o.Kind:
		p.note(saved, s.Text, o.Text, true, "is written by another codec: say Renamed(%q, %q) if it reads what the old one wrote, %s, or give a Migrated", s.Text, o.Text, p.say("Dropped", saved))
	default:
		p.note(saved, s.Text, o.Text, true, "does not become that by itself: say %s, or give a Migrated", p.say("Dropped", saved))
	}
}

// narrow reports whether a change allows a field to lose what its new type does not hold.
func (p *pairing) narrow(saved, own string, s, o *shape.Shape) bool {
	switch {
	case p.rules.allow(Narrowed, saved, own):
		p.note(saved, s.Text, o.Text, false, "is narrowed")
		return true
	case p.rules.allow(Dropped, saved, own):
		p.note(saved, s.Text, o.Text, false, "is dropped, and begins at zero")
	default:
		p.note(saved, s.Text, o.Text, true, "does not hold each of its values: say %s, %s, or give a Migrated", p.say("Narrowed", saved), p.say("Dropped", saved))
	}
	return false
}

// steps returns the steps that copy memory from one place to another.
func (p *pairing) steps(saved, own string, s, o *shape.Shape, from, to int) (all []step) {
	switch {
	case s.Kind == reflect.Struct && o.Kind == reflect.Struct:
		p.fields(saved, own, s, o, func(saved, own string, f, g shape.Field) {
			all = append(all, p.steps(saved, own, f.Shape, g.Shape, from+f.At, to+g.At)...)
		})
		return joined(all)
	case s.Kind == reflect.Array && o.Kind == reflect.Array:
		return p.array(saved, own, s, o, from, to)
	case s.Kind == reflect.Bool && o.Kind == reflect.Bool:
		return []step{{from: from, to: to, n: 1, kind: reflect.Bool, as: reflect.Bool}}
	case s.Kind == o.Kind:
		return []step{{from: from, to: to, n: s.Size}}
	case shape.IsNumber(s.Kind) && shape.IsNumber(o.Kind):
		if shape.Lossless(s.Kind, o.Kind) {
			p.note(saved, s.Text, o.Text, false, "is converted")
		} else if !p.narrow(saved, own, s, o) {
			return nil
		}
		return []step{{from: from, to: to, n: 1, kind: s.Kind, as: o.Kind}}
	case s.Kind == reflect.Complex64 && o.Kind == reflect.Complex128:
		p.note(saved, s.Text, o.Text, false, "is converted")
		return []step{{from: from, to: to, n: 2, kind: reflect.Float32, as: reflect.Float64}}
	case s.Kind == reflect.Complex128 && o.Kind == reflect.Complex64:
		if !p.narrow(saved, own, s, o) {
			return nil
		}
		return []step{{from: from, to: to, n: 2, kind: reflect.Float64, as: reflect.Float32}}
	}
	p.refuse(saved, own, s, o, false)
	return nil
}

// array is steps for arrays.
func (p *pairing) array(saved, own string, s, o *shape.Shape, from, to int) []step {
	switch {
	case s.Len > o.Len && !p.narrow(saved, own, s, o):
		return nil
	case s.Len < o.Len:
		p.note(saved, s.Text, o.Text, false, "is longer; what is new begins at zero")
	}
	x := step{from: from, to: to, n: min(s.Len, o.Len), each: [2]int{s.Elem.Size, o.Elem.Size}}
	x.elements = p.steps(saved, own, s.Elem, o.Elem, 0, 0)
	switch {
	case len(x.elements) == 0 || x.n == 0:
		return nil
	case len(x.elements) > 1:
		return []step{x}
	}
	if e := x.elements[0]; e.copies() && e.n == s.Elem.Size && e.n == o.Elem.Size {
		x.n, x.elements = x.n*e.n, nil
	} else if e.elements == nil && !e.copies() && e.n == 1 && (shape.IsNumber(s.Elem.Kind) || s.Elem.Kind == reflect.Bool) {
		x.kind, x.as, x.elements = e.kind, e.as, nil
	}
	return []step{x}
}

// fields calls pair for the fields that two structs have both, with their paths. It notes and
// returns those that are gone.
func (p *pairing) fields(saved, own string, s, o *shape.Shape, pair func(saved, own string, f, g shape.Field)) (gone []shape.Field) {
	known := map[string]shape.Field{}
	for _, f := range s.Fields {
		known[p.rules.path(join(saved, f.Name))] = f
	}
	for _, g := range o.Fields {
		path := join(own, g.Name)
		f, ok := known[path]
		if !ok {
			p.added(path, g.Shape)
			continue
		}
		delete(known, path)
		p.renamed(join(saved, f.Name), path, f.Shape)
		pair(join(saved, f.Name), path, f, g)
	}
	for _, f := range s.Fields {
		path := join(saved, f.Name)
		if _, ok := known[p.rules.path(path)]; ok {
			p.removed(path, f.Shape)
			gone = append(gone, f)
		}
	}
	return gone
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// cbor returns what must be changed in a value so that another type can read it from CBOR, which
// finds fields by their names. It returns nil for nothing, and leftOut if the type can read nothing
// of the value.
func (p *pairing) cbor(saved, own string, s, o *shape.Shape) *rewriting {
	switch {
	case s.Text == o.Text && len(p.rules.paths) == 0:
		return nil
	case s.Kind == reflect.Invalid && o.Kind == reflect.Invalid:
		was, _ := strconv.Unquote(s.Text)
		if is, _ := strconv.Unquote(o.Text); is != p.rules.codecName(was) {
			p.refuse(saved, own, &shape.Shape{Text: was}, &shape.Shape{Text: is}, true)
			return leftOut
		}
		return nil
	case shape.IsNumber(s.Kind) && shape.IsNumber(o.Kind) && shape.Lossless(s.Kind, o.Kind):
		if s.Kind != o.Kind {
			p.note(saved, s.Text, o.Text, false, "is converted")
		}
		return nil
	case s.Kind != o.Kind || s.Kind == reflect.Array && s.Len > o.Len || s.IsBytes() != o.IsBytes():
		p.refuse(saved, own, s, o, false)
		return leftOut
	}
	switch s.Kind {
	case reflect.Array, reflect.Slice, reflect.Map, reflect.Pointer:
		if s.Kind == reflect.Array && s.Len < o.Len {
			p.note(saved, s.Text, o.Text, false, "is longer; what is new begins at zero")
		}
		if s.Kind == reflect.Map && p.cbor(saved, own, s.Key, o.Key) != nil {
			return leftOut
		}
		elem := p.cbor(saved, own, s.Elem, o.Elem)
		if elem == nil || elem == leftOut || s.Kind == reflect.Pointer {
			return elem
		}
		return &rewriting{elem: elem}
	case reflect.Struct:
		return p.object(saved, own, s, o)
	}
	return nil
}

// object is cbor for structs.
func (p *pairing) object(saved, own string, s, o *shape.Shape) *rewriting {
	x := &rewriting{fields: map[string]fieldRewriting{}}
	gone := p.fields(saved, own, s, o, func(saved, own string, f, g shape.Field) {
		inner := p.cbor(saved, own, f.Shape, g.Shape)
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
		return nil
	}
	return x
}

// paths lists the paths of fields and of the fields within them.
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
