package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/atoll-sim/atoll/internal/form"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/cbor"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/format"
	"github.com/atoll-sim/atoll/persist/snapshot/internal/shape"
)

// OtherConstants reports whether two descriptions of the same form, a saved one and the world's,
// have other enums in it.
func OtherConstants(saved, own []form.Part) bool {
	return !slices.EqualFunc(saved, own, func(a, b form.Part) bool {
		return slices.EqualFunc(a.Fields, b.Fields, func(f, g form.Field) bool {
			return f.Type == g.Type || !strings.Contains(f.Type, `"(`) && !strings.Contains(g.Type, `"(`)
		})
	})
}

// forgets reports whether the names of an enum's constants are dropped.
func (c Changes) forgets(enum string) bool {
	return slices.ContainsFunc(c, func(x Change) bool { return x.Kind == Dropped && x.In == enum && len(x.Fields) == 0 })
}

// renumbering says which number a saved constant has now.
//
// Ownership: immutable once it is made; any goroutine may use it.
type renumbering struct {
	enum  *shape.Enum // the saved one
	path  string      // of the field
	signs bool        // the world's type has a sign
	to    map[int64]int64
	gone  map[int64]bool   // dropped; in to they are 0
	taken map[int64]string // no constant had the number, and this one has it now
}

// number returns the present number of a saved one. The error is ErrOtherWorld.
func (r *renumbering) number(n int64) (int64, error) {
	if now, ok := r.to[n]; ok {
		return now, nil
	}
	if is, ok := r.taken[n]; ok {
		say := fmt.Sprintf("(%q, %q", r.enum.Name, strconv.FormatInt(n, 10))
		return 0, format.OtherWorld("%s has the number %d, which was no constant of %s, and is %q now: say RenamedField%s, %q) if it meant a constant, or Dropped%s), which makes it 0", r.at(), n, r.enum.Name, is, say, is, say)
	}
	return n, nil
}

// at names the field, for an error.
func (r *renumbering) at() string {
	if r.path == "" {
		return "a value"
	}
	return "field " + r.path
}

// twice returns the error about two keys of a map that would become one, which is ErrOtherWorld. One
// of them was no constant: others stay apart.
func (r *renumbering) twice(was, other, is int64) error {
	was, other = min(was, other), max(was, other)
	if r.enum.At(was) >= 0 {
		was, other = other, was
	}
	name := func(n int64) string {
		if at := r.enum.At(n); at >= 0 {
			return fmt.Sprintf("%d, %q", n, r.enum.Constants[at].Name)
		}
		return fmt.Sprintf("%d, no constant", n)
	}
	number := strconv.FormatInt(was, 10)
	return format.OtherWorld("%s is a map with two keys of %s (%s, and %s) that would both be %d now: instead of the RenamedField of %q, say Dropped(%q, %q), which leaves its entry out, or give it another constant", r.at(), r.enum.Name, name(was), name(other), is, number, r.enum.Name, number)
}

// constants compares the enums of two numbers, and returns how numbers change; nil for not at all.
// It notes what it finds, and whether it blocks the load.
func (p *pairing) constants(s, o *shape.Leaf) *renumbering {
	switch {
	case s.Enum == nil && (o.Enum == nil || !shape.IsInteger(s.Kind)) || !shape.IsNumber(o.Kind):
		return nil
	case o.Enum == nil && p.rules.changes.forgets(s.Enum.Name):
		p.note(s.Path, s.Enum.Name, o.Text, false, "has no constants in this world: its numbers are read as they are")
		return nil
	case o.Enum == nil:
		say := "this program lacks: register them in Options.Codecs by state.RegisterEnum"
		if !shape.IsInteger(o.Kind) {
			say = "a " + o.Text + " has not: give a Migrated"
		}
		p.note(s.Path, s.Enum.Name, o.Text, true, "has names for its constants, which %s; Dropped(%q) reads the numbers as they are", say, s.Enum.Name)
		p.notes[len(p.notes)-1].Undeclared = o
		return nil
	case s.Enum == nil:
		p.note(s.Path, s.Text, o.Enum.Name, false, "has constants now: its numbers, which were saved without, are read as they are")
		return nil
	case slices.Equal(s.Enum.Constants, o.Enum.Constants):
		return nil
	}
	r := &renumbering{enum: s.Enum, path: s.Path, signs: o.Kind <= reflect.Int64, to: map[int64]int64{}, gone: map[int64]bool{}, taken: map[int64]string{}}
	var had, has []string
	own, named := map[string]int64{}, map[int64]bool{}
	for _, c := range s.Enum.Constants {
		named[c.Number] = true
		had = append(had, c.Name)
	}
	for _, c := range o.Enum.Constants {
		own[c.Name] = c.Number
		if has = append(has, c.Name); !named[c.Number] {
			r.taken[c.Number] = c.Name
		}
	}
	x := constantNotes{was: s.Enum.Name, is: o.Enum.Name}
	rules := p.rules.changes.rulesOf([]string{x.was, x.is}, had, has)
	for _, c := range s.Enum.Constants {
		is := rules.path(c.Name)
		n, ok := own[is]
		switch {
		case ok:
			delete(own, is)
			if r.to[c.Number] = n; n != c.Number || is != c.Name {
				x.moved = append(x.moved, moved(c, shape.Constant{Name: is, Number: n}))
			}
		case rules.drop(c.Name, is):
			r.to[c.Number], r.gone[c.Number] = 0, true
			x.dropped = append(x.dropped, c.Name)
		default:
			x.missing = append(x.missing, c.Name)
		}
	}
	for n := range r.taken { // a Change may say what it meant: one that was saved, too, or that another number meant
		text := strconv.FormatInt(n, 10)
		rules = p.rules.changes.rulesOf([]string{x.was, x.is}, []string{text}, has)
		is := rules.path(text)
		if at := o.Enum.Of(is); at >= 0 {
			r.to[n] = o.Enum.Constants[at].Number
		} else if rules.drop(text, is) {
			r.to[n], r.gone[n] = 0, true
		}
	}
	for _, c := range o.Enum.Constants {
		if _, ok := own[c.Name]; ok {
			x.added = append(x.added, c.Name)
		}
	}
	p.noteConstants(s, o, &x)
	return r
}

// constantNotes lists the constants in which two enums differ.
type constantNotes struct {
	was, is                        string // the enums
	moved, added, dropped, missing []string
}

// noteConstants notes differences of constants in a field.
func (p *pairing) noteConstants(s, o *shape.Leaf, x *constantNotes) {
	note := func(refused bool, text string, args ...any) { p.note(s.Path, x.was, x.is, refused, text, args...) }
	if len(x.moved) > 0 {
		note(false, "has other numbers for constants, by their names: %s", some(x.moved))
	}
	if len(x.added) > 0 {
		note(false, "has new constants: %s", some(x.added))
	}
	loss := func(word string) string {
		if p.loss.Of == "" || p.loss.Count == 0 {
			return ""
		}
		return word + "IT IN AT MOST " + p.loss.counted()
	}
	if len(x.dropped) > 0 {
		note(false, "has constants that are dropped, and become 0%s: %s", loss(", WHICH LOSES "), some(x.dropped))
	}
	if n := len(x.missing); n > 0 {
		one := x.missing[0]
		note(true, "has %d constants that %s lacks now, %s: say RenamedField(%q, %q, …), or give a Migrated; Dropped(%q, %q) makes it 0%s", n, x.is, some(x.missing), x.is, one, x.is, one, loss(", WHICH LOSES "))
	}
}

// moved describes a constant that has another number or name.
func moved(was, is shape.Constant) string {
	if was.Name != is.Name {
		return fmt.Sprintf("%s %d → %s %d", was.Name, was.Number, is.Name, is.Number)
	}
	return fmt.Sprintf("%s %d → %d", was.Name, was.Number, is.Number)
}

// some lists the first of many words.
func some(all []string) string {
	const most = 12
	if len(all) <= most {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
}

// integer rewrites an integer of CBOR, if there is one at the beginning of src, and returns what it
// was and is; otherwise both are 0. The error is ErrOtherWorld, or says that there is no CBOR.
func (r *renumbering) integer(dst, src []byte) (out, rest []byte, was, is int64, err error) {
	major, n, rest, err := cbor.Head(src)
	if err != nil {
		return nil, nil, 0, 0, err
	}
	if major != cbor.Unsigned && major != cbor.Negative {
		if rest, err = cbor.Skip(src); err != nil {
			return nil, nil, 0, 0, err
		}
		return append(dst, src[:len(src)-len(rest)]...), rest, 0, 0, nil
	}
	if was = int64(n); major == cbor.Negative {
		was = ^was
	}
	if is, err = r.number(was); err != nil {
		return nil, nil, 0, 0, err
	}
	major, n = cbor.Unsigned, uint64(is)
	if is < 0 && r.signs {
		major, n = cbor.Negative, uint64(^is)
	}
	return cbor.AppendHead(dst, major, n), rest, was, is, nil
}

// each rewrites bytes that are constants of one byte each. The error is ErrOtherWorld.
func (r *renumbering) each(all []byte) error {
	for i, b := range all {
		n, err := r.number(int64(b))
		if err != nil {
			return err
		}
		all[i] = byte(n)
	}
	return nil
}
