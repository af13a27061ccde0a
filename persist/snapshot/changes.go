package snapshot

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/persist/state"
)

// Change says what becomes of something in a snapshot that the world no longer has, or has in
// another form. Changes are applied in their order, each only if a snapshot needs it. So a program
// keeps them as long as there are older snapshots, and passes them for newer ones, too.
type Change struct {
	in       string // the name of a component, or of something else that is registered
	from, to string // of what is renamed
	fields   []string
	how      changeKind

	old, now  reflect.Type
	migration func(form drive.Form) drive.Form // of the saved values, by the form of old
}

type changeKind uint8

const (
	renamed changeKind = iota
	renamedField
	dropped
	narrowed
	migrated
)

// Renamed says that a component, message, resource, function, extension, hook, system or Also has
// another name now. It applies to each of them that has the old name in the snapshot and the new one in the
// world. A type that a state.Codec writes, such as "game.Item", can be renamed as well. Renamed
// does nothing if the world still has the old name and lacks the new one, or if the snapshot has
// the new one, too: so the old name may be used again.
func Renamed(old, now string) Change { return Change{how: renamed, from: old, to: now} }

// RenamedField says that a field of a component, message, resource or function's argument has
// another name now. The path of a field within others has dots, such as "Place.X". Fields of the
// elements of arrays, slices and maps belong to the field that holds these: "Slots.Count". It does
// nothing in the cases of Renamed.
func RenamedField(of, old, now string) Change {
	return Change{how: renamedField, in: of, from: old, to: now}
}

// Dropped says that some fields are gone, or without fields everything with that name: Load leaves
// out what was saved of it. Entities stay, without the component; messages and requests under way
// are dropped; of a system, whether it was enabled. What the world still has, in a type that can hold the saved values, is not dropped.
// So another field may take the name. If that could hold the old values, too, use Migrated to say
// which type they have.
func Dropped(name string, fields ...string) Change {
	return Change{how: dropped, in: name, fields: fields}
}

// Narrowed says that fields now have a type that does not hold each value of the old one. Integers
// and floats become the nearest value of the new type, and complex128 the nearest complex64. Floats
// that become integers lose their fraction, and NaN becomes 0. Arrays lose the
// elements at their end.
func Narrowed(of string, fields ...string) Change {
	return Change{how: narrowed, in: of, fields: fields}
}

// Migrated converts values of a component, message, resource or function's argument to type New by
// a function. Old is a type that has the fields of the saved one, with their names, types and
// order: what New was. Other saved forms are read without the function. One goroutine at a time
// calls it, for the values in any order.
func Migrated[Old, New any](f func(Old) New) Change {
	if f == nil {
		panic("snapshot: Migrated with a nil function; pass one that makes a new value from an old one")
	}
	return Change{how: migrated, old: reflect.TypeFor[Old](), now: reflect.TypeFor[New](), migration: func(form drive.Form) drive.Form {
		return &migration[Old, New]{Form: form, f: f}
	}}
}

// migration is a drive.Form that reads old values and converts them.
type migration[Old, New any] struct {
	drive.Form // of Old
	f          func(Old) New
}

func (m *migration[Old, New]) ByCodec() bool { return true }

func (m *migration[Old, New]) Read(src []byte, value mem.Cells) (rest []byte, err error) {
	old := make([]Old, 1)
	if rest, err = m.Form.ReadAll(src, mem.CellsOf(old)); err == nil {
		*mem.As[New](value.Part(0)) = m.f(old[0])
	}
	return rest, err
}

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

// rename applies the changes to the names of a list. own are the world's names. It leaves a name
// that the world still has, if the world lacks the new one, and it leaves the name
// if the snapshot has the new one, too. The name of a kind of requests ends, in quotes, with
// that of a component, message, function or bundle.
func rename(changes []Change, what string, names, own []string) []string {
	names = slices.Clone(names)
	for i, c := range changes {
		if c.how != renamed {
			continue
		}
		now := c.to
		for _, later := range changes[i+1:] {
			if later.how == renamed && later.from == now {
				now = later.to
			}
		}
		for k, name := range names {
			to, last := c.to, now
			if what == "request" {
				rest, ok := strings.CutSuffix(name, " "+strconv.Quote(c.from))
				if !ok {
					continue
				}
				to, last = rest+" "+strconv.Quote(to), rest+" "+strconv.Quote(last)
			} else if name != c.from {
				continue
			}
			if !slices.Contains(names, to) && !slices.Contains(names, last) && (!slices.Contains(own, name) || slices.Contains(own, last)) {
				names[k] = to
			}
		}
	}
	return names
}

// subject returns the name that changes use for something: for a kind of requests the name in
// quotes at the end.
func subject(what, name string) string {
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
type fieldRules struct {
	subjects []string          // its names, in the snapshot and in the world
	paths    map[string]string // of renamed fields, by the saved path
	changes  []Change
}

// rulesOf returns the rules for something with these paths of fields in the snapshot, and own in
// the world. It leaves a path as rename leaves a name.
func rulesOf(changes []Change, saved, now string, paths, own []string) *fieldRules {
	r := &fieldRules{subjects: []string{saved, now}, paths: map[string]string{}, changes: changes}
	names := slices.Clone(paths)
	has := func(all []string, path string) bool {
		return slices.ContainsFunc(all, func(n string) bool { return within(n, path) })
	}
	for i, c := range changes {
		if !r.renames(c) || !has(names, c.from) {
			continue
		}
		last := c.to
		for _, later := range changes[i+1:] {
			if r.renames(later) && within(last, later.from) {
				last = later.to + last[len(later.from):]
			}
		}
		if has(names, c.to) || has(names, last) || has(own, c.from) && !has(own, last) {
			continue
		}
		for i, n := range names {
			if within(n, c.from) {
				names[i] = c.to + n[len(c.from):]
				r.paths[paths[i]] = names[i]
			}
		}
	}
	return r
}

// renames reports whether a change renames a field that the rules are for.
func (r *fieldRules) renames(c Change) bool {
	return c.how == renamedField && slices.Contains(r.subjects, c.in)
}

// within reports whether a path is that of a field, or of one in it.
func within(path, outer string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && (rest == "" || rest[0] == '.')
}

// path returns the present path of a saved one.
func (r *fieldRules) path(saved string) string {
	if now, ok := r.paths[saved]; ok {
		return now
	}
	return saved
}

// allow reports whether a change says that a field, by its saved or its present path, is dropped or
// narrowed.
func (r *fieldRules) allow(how changeKind, saved, now string) bool {
	return slices.ContainsFunc(r.changes, func(c Change) bool {
		return c.how == how && slices.Contains(r.subjects, c.in) && (slices.ContainsFunc(c.fields, func(f string) bool {
			return within(saved, f) || within(now, f)
		}))
	})
}

// codecName returns the present name of a type with a codec.
func (r *fieldRules) codecName(saved string) string {
	return rename(r.changes, "codec", []string{saved}, nil)[0]
}

// migrationOf returns the form that reads saved values by a Migrated, or nil, and whether there
// is a Migrated for another form.
func migrationOf(changes []Change, saved *named, now reflect.Type, codecs *state.Codecs) (form drive.Form, other bool, err error) {
	for _, c := range changes {
		if c.how != migrated || c.now != now {
			continue
		}
		old := named{rows: c.old}
		if err := old.formOf(codecs); err != nil {
			return nil, false, err
		}
		if old.hash == saved.hash {
			return c.migration(old.form), false, nil
		}
		other = true
	}
	return nil, other, nil
}
