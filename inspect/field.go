package inspect

import (
	"fmt"
	"reflect"
	"strconv"
	"sync"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/driver"
	"github.com/atoll-sim/atoll/world"
)

const (
	fieldsMax = 256 // of a component that are named
	arrayMax  = 16  // elements of an array that are fields
)

var handleType = reflect.TypeFor[handle.Handle]()

// field is a number, truth value, text or handle in a component.
type field struct {
	path   string // "" for a component that is itself one
	typ    reflect.Type
	offset uintptr
	index  []int // of the fields and elements that lead to it
	open   bool  // all of them are exported fields
}

func (f *field) numeric() bool {
	return f.typ != handleType && f.typ.Kind() >= reflect.Int && f.typ.Kind() <= reflect.Float64 && f.typ.Kind() != reflect.Uintptr
}

// fieldsOf returns the fields of a type.
func fieldsOf(t reflect.Type) (all []field) {
	addFields(&all, field{typ: t, open: true})
	return all
}

func addFields(all *[]field, f field) {
	if len(*all) == fieldsMax {
		return
	}
	inner := func(name string, i int, t reflect.Type, offset uintptr, open bool) {
		path := name
		if f.path != "" {
			path = f.path + "." + name
		}
		index := append(f.index[:len(f.index):len(f.index)], i)
		addFields(all, field{path, t, f.offset + offset, index, f.open && open})
	}
	switch k := f.typ.Kind(); {
	case k == reflect.Struct:
		for i := range f.typ.NumField() {
			x := f.typ.Field(i)
			inner(x.Name, i, x.Type, x.Offset, x.IsExported())
		}
	case k == reflect.Array && f.typ.Len() <= arrayMax:
		for i := range f.typ.Len() {
			inner(strconv.Itoa(i), i, f.typ.Elem(), uintptr(i)*f.typ.Elem().Size(), true)
		}
	case k == reflect.Bool, k == reflect.String, f.numeric(), f.typ == handleType:
		*all = append(*all, f)
	}
}

// of returns the field of a value.
func (f *field) of(v reflect.Value) reflect.Value {
	for _, i := range f.index {
		if v.Kind() == reflect.Array {
			v = v.Index(i)
		} else {
			v = v.Field(i)
		}
	}
	return v
}

// component is a component of the world.
type component struct {
	name   string
	typ    reflect.Type
	framed bool
	whyNot string // why frames cannot have it
	plain  bool   // a copy by assignment shares nothing with the world
	fields []field
}

// schema is the part of the world that does not change, such as its components. If components are
// registered later, there is a new schema.
//
// Ownership: immutable.
type schema struct {
	components []component
	byName     map[string]int
	messages   []string
	resources  []string
	extensions int
	namings    []naming
}

// naming is an extension that gives entities names. Any goroutine may ask it.
type naming struct {
	label string
	drive.Naming
}

// namesOf returns the names that an entity has now.
func (s *schema) namesOf(h handle.Handle) []entityName {
	all := []entityName{}
	for _, n := range s.namings {
		if name, ok := n.TextOf(h); ok {
			all = append(all, entityName{n.label, name})
		}
	}
	return all
}

// schemas has the newest schema.
type schemas struct {
	mu sync.Mutex
	is *schema
}

// known returns the schema at the last sample, or nil.
func (s *schemas) known() *schema {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.is
}

// of returns the schema of the idle world.
func (s *schemas) of(w *world.World) *schema {
	survey := driver.Of(w).Survey()
	s.mu.Lock()
	defer s.mu.Unlock()
	extensions := survey.Extensions()
	if n := survey.Counts(); s.is != nil && n.Components == len(s.is.components) && n.Resources == len(s.is.resources) &&
		len(survey.Messages()) == len(s.is.messages) && len(extensions) == s.is.extensions {
		return s.is
	}
	x := &schema{byName: map[string]int{}, components: []component{}, messages: []string{}, resources: []string{}, extensions: len(extensions)}
	space := driver.Of(w).Space()
	for id, c := range survey.Components() {
		of := component{name: c.Name, typ: c.Type, framed: survey.Copied(id), fields: fieldsOf(c.Type)}
		of.plain = of.framed && !space.Cloned(id)
		if path, what := survey.Shares(id); what != 0 {
			of.whyNot = fmt.Sprintf("%s is a %s, which a copy would share with the world; give the component a Component.CloneBy", path, what)
		}
		x.components, x.byName[c.Name] = append(x.components, of), id
	}
	for _, m := range survey.Messages() {
		x.messages = append(x.messages, m.Name)
	}
	for _, r := range survey.Resources() {
		x.resources = append(x.resources, r.Name)
	}
	for i, e := range extensions {
		if n, ok := e.(drive.Naming); ok {
			x.namings = append(x.namings, naming{drive.NameOf(e, i), n})
		}
	}
	s.is = x
	return x
}
