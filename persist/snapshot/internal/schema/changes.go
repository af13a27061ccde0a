package schema

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/atoll-sim/atoll/internal/form"

	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/shape"
	"github.com/atoll-sim/atoll/persist/state"
)

// Change says what becomes of something in a snapshot. Package snapshot has the functions that make
// one.
type Change struct {
	Kind     ChangeKind
	In       string // the name of a component, or of something else that is registered
	From, To string // of what is renamed
	Fields   []string

	Old, Now reflect.Type
	*migrating
}

// migrating is what a Migration does. Two that are not the same do not share it.
type migrating struct {
	form func(old form.Form) form.Form // of the saved values, by the form of Old
	one  func(from, to mem.Pointer)    // makes a New of an Old
}

// Same reports whether two changes are certainly the same.
func (c Change) Same(other Change) bool {
	return c.Kind == other.Kind && c.In == other.In && c.From == other.From && c.To == other.To &&
		slices.Equal(c.Fields, other.Fields) && c.migrating == other.migrating
}

// ChangeKind says what a Change does.
type ChangeKind uint8

// The kinds of changes.
const (
	Renamed ChangeKind = iota
	RenamedField
	Dropped
	Migrated
)

// Within returns a change of a component's fields for something that has the component as a field.
func (c Change) Within(name, field string) Change {
	c.In = name
	switch c.Kind {
	case RenamedField:
		c.From, c.To = join(field, c.From), join(field, c.To)
	case Dropped:
		fields := make([]string, len(c.Fields))
		for i := range fields {
			fields[i] = join(field, c.Fields[i])
		}
		c.Fields = fields
		if len(fields) == 0 {
			c.In = "" // that the component is gone does not drop the request
		}
	}
	return c
}

// Migration returns the Change that makes new values of old ones.
func Migration[Old, New any](f func(Old) New) Change {
	return Change{Kind: Migrated, Old: reflect.TypeFor[Old](), Now: reflect.TypeFor[New](), migrating: &migrating{
		form: func(form form.Form) form.Form { return &migration[Old, New]{Form: form, f: f} },
		one:  func(from, to mem.Pointer) { *mem.As[New](to) = f(*mem.As[Old](from)) },
	}}
}

// migration is a form.Form that reads old values and converts them.
//
// Ownership: immutable. One goroutine at a time reads by it, because it calls the user's function.
type migration[Old, New any] struct {
	form.Form // of Old
	f         func(Old) New
}

// ByCodec reports true: the function is the user's, so one goroutine at a time calls it.
func (m *migration[Old, New]) ByCodec() bool { return true }

// Read reads an old value, and converts it by the user's function. After an error there is no
// value.
func (m *migration[Old, New]) Read(src []byte, value mem.Cells) (rest []byte, err error) {
	old := make([]Old, 1)
	if rest, err = m.Form.ReadAll(src, mem.CellsOf(old)); err == nil {
		*mem.As[New](value.Part(0)) = m.f(old[0])
	}
	return rest, err
}

// ReadAll reads as many old values at a time as the bytes may have, and converts each by the user's
// function. After an error some values were converted.
func (m *migration[Old, New]) ReadAll(src []byte, values mem.Cells) (rest []byte, err error) {
	old := make([]Old, min(values.Len, len(src)/max(m.Form.Least(), 1)+1))
	for i := range values.Len {
		at := i % len(old)
		if at == 0 {
			clear(old)
			if src, err = m.Form.ReadAll(src, mem.CellsOf(old[:min(len(old), values.Len-i)])); err != nil {
				return nil, err
			}
		}
		*mem.As[New](values.At(i).Part(0)) = m.f(old[at])
	}
	return src, nil
}

// Changes are those of a program, in their order.
type Changes []Change

// Drop reports whether something is dropped as a whole, by its saved or its present name.
func (c Changes) Drop(saved, now string) bool {
	return slices.ContainsFunc(c, func(one Change) bool {
		return one.Kind == Dropped && len(one.Fields) == 0 && (one.In == saved || one.In == now)
	})
}

// Rename applies the changes to the names of a list. own are the world's names. It leaves a name
// that the world still has, if the world lacks the new one, and it leaves the name
// if the snapshot has the new one, too. The name of a kind of requests ends, in quotes, with
// that of a component, message, function or bundle.
func (c Changes) Rename(what string, names, own []string) []string {
	names = slices.Clone(names)
	for i, one := range c {
		if one.Kind != Renamed {
			continue
		}
		now := one.To
		for _, later := range c[i+1:] {
			if later.Kind == Renamed && later.From == now {
				now = later.To
			}
		}
		for k, name := range names {
			to, last := one.To, now
			if what == "request" {
				rest, ok := strings.CutSuffix(name, " "+strconv.Quote(one.From))
				if !ok {
					continue
				}
				to, last = rest+" "+strconv.Quote(to), rest+" "+strconv.Quote(last)
			} else if name != one.From {
				continue
			}
			if !slices.Contains(names, to) && !slices.Contains(names, last) && (!slices.Contains(own, name) || slices.Contains(own, last)) {
				names[k] = to
			}
		}
	}
	return names
}

// Subject returns the name that changes use for something: for a kind of requests the name in
// quotes at the end.
func Subject(what, name string) string {
	if what != "request" {
		return name
	}
	if _, rest, ok := strings.Cut(name, ` "`); ok {
		if name, err := strconv.Unquote(`"` + rest); err == nil {
			return name
		}
	}
	return name
}

// fieldRules are the changes of one thing's fields.
//
// Ownership: the goroutine that plans or loads; once it is made, nobody writes it.
type fieldRules struct {
	subjects []string          // its names, in the snapshot and in the world, and others
	paths    map[string]string // of renamed fields, by the saved path
	changes  Changes
}

// rulesOf returns the rules for something with these names, and these paths of fields in the
// snapshot, and own in the world. It leaves a path as Rename leaves a name.
func (c Changes) rulesOf(subjects, paths, own []string) *fieldRules {
	r := &fieldRules{subjects: subjects, paths: map[string]string{}, changes: c}
	names := slices.Clone(paths)
	has := func(all []string, path string) bool {
		return slices.ContainsFunc(all, func(n string) bool { return within(n, path) })
	}
	for i, one := range c {
		if !r.renames(one) || !has(names, one.From) {
			continue
		}
		last := one.To
		for _, later := range c[i+1:] {
			if r.renames(later) && within(last, later.From) {
				last = later.To + last[len(later.From):]
			}
		}
		if has(names, one.To) || has(names, last) || has(own, one.From) && !has(own, last) {
			continue
		}
		for i, n := range names {
			if within(n, one.From) {
				names[i] = one.To + n[len(one.From):]
				r.paths[paths[i]] = names[i]
			}
		}
	}
	return r
}

// renames reports whether a change renames a field that the rules are for.
func (f *fieldRules) renames(c Change) bool {
	return c.Kind == RenamedField && c.In != "" && slices.Contains(f.subjects, c.In)
}

// within reports whether a path is that of a field, or of one in it.
func within(path, outer string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && (rest == "" || rest[0] == '.')
}

// path returns the present path of a saved one.
func (f *fieldRules) path(saved string) string {
	if now, ok := f.paths[saved]; ok {
		return now
	}
	return saved
}

// drop reports whether a change says that a field, by its saved or its present path, is dropped.
func (f *fieldRules) drop(saved, now string) bool {
	return slices.ContainsFunc(f.changes, func(c Change) bool {
		return c.Kind == Dropped && c.In != "" && slices.Contains(f.subjects, c.In) && (slices.ContainsFunc(c.Fields, func(field string) bool {
			return within(saved, field) || within(now, field)
		}))
	})
}

// codecName returns the present name of a type with a codec.
func (f *fieldRules) codecName(saved string) string {
	return f.changes.Rename("codec", []string{saved}, nil)[0]
}

// Migrate returns the form that reads saved values, whose form has this hash, by a Migration to
// type now. via returns what reads them as values of an old form of that shape, whose enums may have
// other constants. how is the Migration. Both are nil if there is none; other says whether there
// is one from another form. An error is via's, or the codecs' for the old type.
func (c Changes) Migrate(saved uint64, now reflect.Type, codecs *state.Codecs, via func(old form.Form, of reflect.Type) (form.Form, error)) (by form.Form, how *Change, other bool, err error) {
	for i := range c {
		one := &c[i]
		if one.Kind != Migrated || one.Now != now {
			continue
		}
		old, err := (*form.Codecs)(codecs).Form(one.Old, true)
		if err != nil {
			return nil, nil, false, err
		}
		if (shape.HashOf(old)^saved)&^format.Accumulates == 0 { // of an accumulator, too
			if old, err = via(old, one.Old); err != nil {
				return nil, nil, false, err
			}
			return one.form(old), one, false, nil
		}
		other = true
	}
	return nil, nil, other, nil
}

// Makes reports whether there is a Migration to a type.
func (c Changes) Makes(now reflect.Type) bool {
	return slices.ContainsFunc(c, func(one Change) bool { return one.Kind == Migrated && one.Now == now })
}
