package schema

import (
	"reflect"
	"slices"

	"github.com/atoll-sim/atoll/internal/form"
	"github.com/atoll-sim/atoll/internal/mem"
)

// Bundled is a struct with fields that Migrations make: the payload of a request about a bundle.
//
// Ownership: immutable once it is made.
type Bundled struct {
	Of     reflect.Type // the struct with the old types of these fields
	now    reflect.Type
	fields []bundledField
	made   []string // the paths of those that Migrations make
}

// Reads reports whether a note is only about constants that the old type of a Migration reads as
// plain numbers, as it may.
func (b *Bundled) Reads(x Note) bool {
	return x.Undeclared != nil && slices.ContainsFunc(b.made, func(path string) bool { return within(x.Undeclared.Path, path) })
}

// bundledField is a field of both structs.
type bundledField struct {
	from, to uintptr
	of       reflect.Type
	how      *Change // nil: it is copied
}

// Bundle returns how a struct is made with components of other types, or nil if none of them is in
// by. The components are its fields, or if wrapped is set the fields of its first.
func Bundle(now reflect.Type, wrapped bool, by map[reflect.Type]*Change) *Bundled {
	in := now
	if wrapped {
		in = now.Field(0).Type
	}
	if in.Kind() != reflect.Struct {
		return nil
	}
	old, some := with(in, func(f reflect.StructField) reflect.Type {
		if how := by[f.Type]; how != nil {
			return how.Old
		}
		return f.Type
	})
	if !some {
		return nil
	}
	b := &Bundled{now: now, Of: old}
	outer := ""
	if wrapped {
		outer = now.Field(0).Name
		b.Of, _ = with(now, func(f reflect.StructField) reflect.Type {
			if f.Index[0] == 0 {
				return old
			}
			return f.Type
		})
		for i := range now.NumField() {
			if from, to := b.Of.Field(i), now.Field(i); i > 0 {
				b.fields = append(b.fields, bundledField{from.Offset, to.Offset, to.Type, nil})
			}
		}
	}
	for i := range in.NumField() {
		from, to := old.Field(i), in.Field(i)
		b.fields = append(b.fields, bundledField{from.Offset, to.Offset, to.Type, by[to.Type]})
		if by[to.Type] != nil {
			b.made = append(b.made, join(outer, to.Name))
		}
	}
	return b
}

// with returns a struct type whose fields have other types, and whether one has. Embedded fields
// are plain ones of the same name: it is only for memory.
func with(t reflect.Type, of func(f reflect.StructField) reflect.Type) (reflect.Type, bool) {
	var fields []reflect.StructField
	some := false
	for i := range t.NumField() {
		f := t.Field(i)
		was := f.Type
		f.Type, f.Anonymous = of(f), false
		some = some || f.Type != was
		fields = append(fields, f)
	}
	return reflect.StructOf(fields), some
}

// Form returns what reads values by a form that reads the old struct. own is the form of the new one.
func (b *Bundled) Form(old, own form.Form) form.Form { return &bundledForm{own, old, b} }

// bundledForm is a form.Form that reads old structs and converts their fields.
//
// Ownership: immutable. One goroutine at a time reads by it, because it calls the user's functions.
type bundledForm struct {
	form.Form // of the new struct
	old       form.Form
	*Bundled
}

// Least returns how many bytes a saved value takes at least.
func (b *bundledForm) Least() int { return b.old.Least() }

// ByCodec reports true: the functions are the user's, so one goroutine at a time calls them.
func (b *bundledForm) ByCodec() bool { return true }

// Read reads an old value, and converts it by the user's functions. After an error there is no
// value.
func (b *bundledForm) Read(src []byte, value mem.Cells) (rest []byte, err error) {
	old := mem.NewCell(b.Of)
	if rest, err = b.old.Read(src, old); err != nil {
		return nil, err
	}
	for _, f := range b.fields {
		from, to := old.Part(f.from), value.Part(f.to)
		if f.how != nil {
			f.how.one(from, to)
			continue
		}
		reflect.NewAt(f.of, to.Address).Elem().Set(reflect.NewAt(f.of, from.Address).Elem())
	}
	return rest, nil
}

// ReadAll reads values one by one: requests are few. After an error some were read.
func (b *bundledForm) ReadAll(src []byte, values mem.Cells) (rest []byte, err error) {
	for i := range values.Len {
		if src, err = b.Read(src, values.At(i)); err != nil {
			return nil, err
		}
	}
	return src, nil
}
