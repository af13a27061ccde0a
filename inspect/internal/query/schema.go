// Package query is the language in which the inspector asks for entities. It reads a query, checks
// it against the components of a world, and finds the rows of a frame that match. It knows neither
// HTTP nor JSON.
//
// The files go from what a query may name (schema) by its text (parse) and its meaning (compile) to
// its rows (match) and their order and sums (rank).
package query

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/atoll-sim/atoll/handle"
)

const (
	fieldsMax = 256 // of a component that are named
	arrayMax  = 16  // elements of an array that are fields
)

var handleType = reflect.TypeFor[handle.Handle]()

// Error says what is wrong with a query, and where.
type Error struct {
	Text string
	At   int // the column, from 1; 0 for what is no part of the query's text
}

// Error returns the text, without the column.
func (e *Error) Error() string { return e.Text }

// errorAt returns an Error about the column at of a query's text, from 1, or 0 for no column.
func errorAt(at int, format string, values ...any) error {
	return &Error{fmt.Sprintf(format, values...), at}
}

// Schema is what a query may name: the components of a world by their IDs.
//
// Ownership: immutable.
type Schema struct {
	Components []Component
	byName     map[string]int
}

// Component is a component of the world. NewSchema fills in Fields.
type Component struct {
	Name   string
	Type   reflect.Type
	Framed bool
	WhyNot string // why frames cannot have it
	Fields []Field
}

// Field is a number, truth value, text or handle in a component.
type Field struct {
	Path   string // "" for a component that is itself one
	Type   reflect.Type
	Open   bool // it, and all that lead to it, are exported
	offset uintptr
	index  []int // of the fields and elements that lead to it
}

// NewSchema makes the schema of components, which it keeps, and fills in their fields. The
// inspector calls it when components were registered.
func NewSchema(components []Component) *Schema {
	s := &Schema{components, map[string]int{}}
	for id := range components {
		c := &components[id]
		s.byName[c.Name] = id
		c.addFields(Field{Type: c.Type, Open: true})
	}
	return s
}

// addFields adds a field, or the fields and elements inside of it, for NewSchema.
func (c *Component) addFields(f Field) {
	if len(c.Fields) == fieldsMax {
		return
	}
	inner := func(name string, i int, t reflect.Type, offset uintptr, open bool) {
		path := name
		if f.Path != "" {
			path = f.Path + "." + name
		}
		index := append(f.index[:len(f.index):len(f.index)], i)
		c.addFields(Field{path, t, f.Open && open, f.offset + offset, index})
	}
	switch k := f.Type.Kind(); {
	case k == reflect.Struct:
		for i := range f.Type.NumField() {
			x := f.Type.Field(i)
			inner(x.Name, i, x.Type, x.Offset, x.IsExported())
		}
	case k == reflect.Array && f.Type.Len() <= arrayMax:
		for i := range f.Type.Len() {
			inner(strconv.Itoa(i), i, f.Type.Elem(), uintptr(i)*f.Type.Elem().Size(), true)
		}
	case k == reflect.Bool, k == reflect.String, f.Numeric(), f.IsHandle():
		c.Fields = append(c.Fields, f)
	}
}

// Numeric reports whether the field is a number. Handles are none.
func (f *Field) Numeric() bool {
	k := f.Type.Kind()
	return !f.IsHandle() && k >= reflect.Int && k <= reflect.Float64 && k != reflect.Uintptr
}

// IsHandle reports whether the field names an entity.
func (f *Field) IsHandle() bool { return f.Type == handleType }

// Of returns the field of a component's value. The value may be a copy, or the original if the
// caller owns that.
func (f *Field) Of(v reflect.Value) reflect.Value {
	for _, i := range f.index {
		if v.Kind() == reflect.Array {
			v = v.Index(i)
		} else {
			v = v.Field(i)
		}
	}
	return v
}

// Lookup returns the ID of a component. Its error suggests others.
func (s *Schema) Lookup(name string) (id int, err error) {
	id, ok := s.byName[name]
	if !ok {
		return 0, s.unknown(name, 0)
	}
	return id, nil
}

// namesTold is how many components an error lists.
const namesTold = 12

// unknown returns the error for a component that there is not. It suggests a similar name, or lists
// some.
func (s *Schema) unknown(name string, at int) error {
	var all []string
	for i := range s.Components {
		of := s.Components[i].Name
		if rest := name[min(len(of), len(name)):]; strings.EqualFold(name[:len(name)-len(rest)], of) && (rest == "" || rest[0] == '.') {
			return errorAt(at, "there is no component %q; %q is one, and case matters", name, of)
		}
		all = append(all, of)
	}
	told := strings.Join(all[:min(namesTold, len(all))], ", ")
	if len(all) > namesTold {
		told += ", …"
	}
	return errorAt(at, "there is no component %q; there are: %s", name, told)
}

// field returns a field of a component that frames have. An error lists some of its fields.
func (s *Schema) field(id int, path string, at int) (*Field, error) {
	c := &s.Components[id]
	if !c.Framed {
		return nil, errorAt(at, "fields of %s cannot be asked for: %s", c.Name, c.WhyNot)
	}
	for i := range c.Fields {
		if c.Fields[i].Path == path {
			return &c.Fields[i], nil
		}
	}
	if path == "" {
		return nil, errorAt(at, "%s is a %v, want one of its fields%s", c.Name, c.Type, c.somePaths())
	}
	return nil, errorAt(at, "%s has no field %s that is a number, truth value, text or handle%s", c.Name, path, c.somePaths())
}

// somePaths lists a few fields, for errors to suggest.
func (c *Component) somePaths() string {
	var some []string
	for _, f := range c.Fields[:min(len(c.Fields), 5)] {
		some = append(some, c.Name+"."+f.Path)
	}
	if len(some) == 0 {
		return ""
	}
	return ", as " + strings.Join(some, ", ")
}
