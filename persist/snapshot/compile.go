package snapshot

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/atoll-sim/atoll/internal/drive"
)

// This file matches two forms of a type: by the names of their fields.

// pairing is the comparison of a saved form with the world's.
type pairing struct {
	rules *fieldRules
	about Difference // what it is
	list  *[]Difference
}

// note adds a difference.
func (p *pairing) note(field, was, is string, refused bool, text string, args ...any) {
	d := p.about
	d.Field, d.Was, d.Is, d.Refused, d.Text = field, was, is, refused, fmt.Sprintf(text, args...)
	*p.list = append(*p.list, d)
}

// say returns a Change, as Go code, for an error to suggest.
func (p *pairing) say(how, path string, more ...string) string {
	all := append([]string{strconv.Quote(p.rules.subjects[1]), strconv.Quote(path)}, more...)
	return fmt.Sprintf("%s(%s)", how, strings.Join(all, ", "))
}

// compile returns a converter that reads values of one form as values of another.
func (p *pairing) compile(saved, own []leaf, savedParts []drive.Part, to *named) *converter {
	before := len(*p.list)
	c := skipping(savedParts)
	c.Form, c.own = to.form, to.parts
	byPath := map[string]*leaf{}
	for i := range saved {
		byPath[p.rules.path(saved[i].path)] = &saved[i]
	}
	for i := range own {
		o := &own[i]
		s := byPath[o.path]
		if s == nil {
			p.added(o.path, o.shape)
			continue
		}
		delete(byPath, o.path)
		p.renamed(s.path, o.path, s.shape)
		switch {
		case s.how == asMemory && o.how == asMemory:
			c.parts[s.part].add(o.part, p.steps(s.path, o.path, s.shape, o.shape, s.at, o.at))
		case s.how != o.how || s.how == byCodec && p.rules.codecName(s.text) != o.text:
			p.refuse(s.path, o.path, s.shape, o.shape, s.how == byCodec || o.how == byCodec)
		default:
			x := &c.parts[s.part]
			if s.how == asCBOR {
				x.rewrite = p.cbor(s.path, o.path, s.shape, o.shape)
			}
			if x.rewrite != leftOut {
				x.to = o.part
			}
		}
	}
	for i := range saved {
		if s := &saved[i]; byPath[p.rules.path(s.path)] == s {
			p.removed(s.path, s.shape)
		}
	}
	if len(*p.list) == before {
		p.note("", memoryOf(savedParts), to.typ, false, "its fields are at other places in memory")
	}
	return c
}

// memoryOf returns how many bytes of memory a form takes.
func memoryOf(parts []drive.Part) string {
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

func (p *pairing) added(path string, o *shape) {
	p.note(path, "", o.text, false, "is new, and begins at zero")
}

func (p *pairing) renamed(saved, own string, s *shape) {
	if saved != own && p.rules.paths[saved] == own {
		p.note(saved, s.text, s.text, false, "is %s now", own)
	}
}

func (p *pairing) removed(path string, s *shape) {
	if p.rules.allow(dropped, path, p.rules.path(path)) {
		p.note(path, s.text, "", false, "is dropped")
		return
	}
	p.note(path, s.text, "", true, "is not in this world: say %s or %s", p.say("Dropped", path), p.say("RenamedField", path, "…"))
}

// refuse notes that a type cannot become another.
func (p *pairing) refuse(saved, own string, s, o *shape, codec bool) {
	switch {
	case p.rules.allow(dropped, saved, own):
		p.note(saved, s.text, o.text, false, "is dropped, and begins at zero")
	case codec && s.kind == o.kind:
		p.note(saved, s.text, o.text, true, "is written by another codec: say Renamed(%q, %q) if it reads what the old one wrote, %s, or give a Migrated", s.text, o.text, p.say("Dropped", saved))
	default:
		p.note(saved, s.text, o.text, true, "does not become that by itself: say %s, or give a Migrated", p.say("Dropped", saved))
	}
}

// narrow reports whether a change allows a field to lose what its new type does not hold.
func (p *pairing) narrow(saved, own string, s, o *shape) bool {
	switch {
	case p.rules.allow(narrowed, saved, own):
		p.note(saved, s.text, o.text, false, "is narrowed")
		return true
	case p.rules.allow(dropped, saved, own):
		p.note(saved, s.text, o.text, false, "is dropped, and begins at zero")
	default:
		p.note(saved, s.text, o.text, true, "does not hold each of its values: say %s, %s, or give a Migrated", p.say("Narrowed", saved), p.say("Dropped", saved))
	}
	return false
}

// steps returns the steps that copy memory from one place to another.
func (p *pairing) steps(saved, own string, s, o *shape, from, to int) (all []step) {
	switch {
	case s.kind == reflect.Struct && o.kind == reflect.Struct:
		known := map[string]shapeField{}
		for _, f := range s.fields {
			known[p.rules.path(join(saved, f.name))] = f
		}
		for _, g := range o.fields {
			path := join(own, g.name)
			f, ok := known[path]
			if !ok {
				p.added(path, g.shape)
				continue
			}
			delete(known, path)
			p.renamed(join(saved, f.name), path, f.shape)
			all = append(all, p.steps(join(saved, f.name), path, f.shape, g.shape, from+f.at, to+g.at)...)
		}
		for _, f := range s.fields {
			if _, ok := known[p.rules.path(join(saved, f.name))]; ok {
				p.removed(join(saved, f.name), f.shape)
			}
		}
		return joined(all)
	case s.kind == reflect.Array && o.kind == reflect.Array:
		return p.array(saved, own, s, o, from, to)
	case s.kind == reflect.Bool && o.kind == reflect.Bool:
		return []step{{from: from, to: to, n: 1, kind: reflect.Bool, as: reflect.Bool}}
	case s.kind == o.kind:
		return []step{{from: from, to: to, n: s.size}}
	case isNumber(s.kind) && isNumber(o.kind):
		if lossless(s.kind, o.kind) {
			p.note(saved, s.text, o.text, false, "is converted")
		} else if !p.narrow(saved, own, s, o) {
			return nil
		}
		return []step{{from: from, to: to, n: 1, kind: s.kind, as: o.kind}}
	case s.kind == reflect.Complex64 && o.kind == reflect.Complex128:
		p.note(saved, s.text, o.text, false, "is converted")
		return []step{{from: from, to: to, n: 2, kind: reflect.Float32, as: reflect.Float64}}
	case s.kind == reflect.Complex128 && o.kind == reflect.Complex64:
		if !p.narrow(saved, own, s, o) {
			return nil
		}
		return []step{{from: from, to: to, n: 2, kind: reflect.Float64, as: reflect.Float32}}
	}
	p.refuse(saved, own, s, o, false)
	return nil
}

// array is steps for arrays.
func (p *pairing) array(saved, own string, s, o *shape, from, to int) []step {
	switch {
	case s.n > o.n && !p.narrow(saved, own, s, o):
		return nil
	case s.n < o.n:
		p.note(saved, s.text, o.text, false, "is longer; what is new begins at zero")
	}
	x := step{from: from, to: to, n: min(s.n, o.n), each: [2]int{s.elem.size, o.elem.size}}
	x.elements = p.steps(saved, own, s.elem, o.elem, 0, 0)
	switch {
	case len(x.elements) == 0 || x.n == 0:
		return nil
	case len(x.elements) > 1:
		return []step{x}
	}
	if e := x.elements[0]; e.copies() && e.n == s.elem.size && e.n == o.elem.size {
		x.n, x.elements = x.n*e.n, nil
	} else if e.elements == nil && !e.copies() && e.n == 1 && (isNumber(s.elem.kind) || s.elem.kind == reflect.Bool) {
		x.kind, x.as, x.elements = e.kind, e.as, nil
	}
	return []step{x}
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
func (p *pairing) cbor(saved, own string, s, o *shape) *rewriting {
	switch {
	case s.text == o.text && len(p.rules.paths) == 0:
		return nil
	case s.kind == reflect.Invalid && o.kind == reflect.Invalid:
		was, _ := strconv.Unquote(s.text)
		if is, _ := strconv.Unquote(o.text); is != p.rules.codecName(was) {
			p.refuse(saved, own, &shape{text: was}, &shape{text: is}, true)
			return leftOut
		}
		return nil
	case isNumber(s.kind) && isNumber(o.kind) && lossless(s.kind, o.kind):
		if s.kind != o.kind {
			p.note(saved, s.text, o.text, false, "is converted")
		}
		return nil
	case s.kind != o.kind || s.kind == reflect.Array && s.n > o.n || s.isBytes() != o.isBytes():
		p.refuse(saved, own, s, o, false)
		return leftOut
	}
	switch s.kind {
	case reflect.Array, reflect.Slice, reflect.Map, reflect.Pointer:
		if s.kind == reflect.Array && s.n < o.n {
			p.note(saved, s.text, o.text, false, "is longer; what is new begins at zero")
		}
		if s.kind == reflect.Map && p.cbor(saved, own, s.key, o.key) != nil {
			return leftOut
		}
		elem := p.cbor(saved, own, s.elem, o.elem)
		if elem == nil || elem == leftOut || s.kind == reflect.Pointer {
			return elem
		}
		return &rewriting{elem: elem}
	case reflect.Struct:
		return p.object(saved, own, s, o)
	}
	return nil
}

// object is cbor for structs.
func (p *pairing) object(saved, own string, s, o *shape) *rewriting {
	x := &rewriting{fields: map[string]fieldRewriting{}}
	known := map[string]shapeField{}
	for _, f := range s.fields {
		known[p.rules.path(join(saved, f.name))] = f
	}
	for _, g := range o.fields {
		path := join(own, g.name)
		f, ok := known[path]
		if !ok {
			p.added(path, g.shape)
			continue
		}
		delete(known, path)
		p.renamed(join(saved, f.name), path, f.shape)
		inner := p.cbor(join(saved, f.name), path, f.shape, g.shape)
		switch key := string(cborKey(f.name)); {
		case inner == leftOut:
			x.fields[key] = fieldRewriting{}
		case inner != nil || f.name != g.name:
			x.fields[key] = fieldRewriting{key: cborKey(g.name), rewriting: inner}
		}
	}
	for _, f := range s.fields {
		path := join(saved, f.name)
		if _, ok := known[p.rules.path(path)]; !ok {
			continue
		}
		p.removed(path, f.shape)
		x.fields[string(cborKey(f.name))] = fieldRewriting{}
	}
	if len(x.fields) == 0 {
		return nil
	}
	return x
}

// paths lists the paths of fields and of the fields within them.
func paths(all []leaf) (list []string) {
	var add func(path string, s *shape)
	add = func(path string, s *shape) {
		if s.elem != nil {
			add(path, s.elem)
		}
		for _, f := range s.fields {
			list = append(list, join(path, f.name))
			add(join(path, f.name), f.shape)
		}
	}
	for _, x := range all {
		list = append(list, x.path)
		add(x.path, x.shape)
	}
	return list
}
