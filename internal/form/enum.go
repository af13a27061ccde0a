package form

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
)

// enum has the constants of a named type of integers, by their numbers. Immutable.
type enum struct {
	name      string
	constants []constant
}

// constant is a constant of an enum. The number of an unsigned type is the int64 of the same bits.
type constant struct {
	name   string
	number int64
}

// integer is what a type of constants is made of.
type integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// RegisterEnum is state.RegisterEnum. It panics if the type is no named one, has constants or a
// codec already, or if a name is empty or two numbers have it; nothing has changed then.
func RegisterEnum[T integer](to *Codecs, names map[T]string) {
	t := reflect.TypeFor[T]()
	switch {
	case t.PkgPath() == "" || t == reflect.TypeFor[handle.Handle]():
		panic(fmt.Sprintf("state: RegisterEnum for %v; declare a type of your own for the constants", t))
	case to.byType[t] != nil || to.enums[t] != nil:
		panic(fmt.Sprintf("state: %v has a codec or an enum already; register one for each type", t))
	case len(names) == 0:
		panic(fmt.Sprintf("state: RegisterEnum for %v without constants; name them", t))
	}
	e, known := &enum{name: t.String()}, map[string]T{}
	for n, name := range names {
		if other, twice := known[name]; name == "" || twice {
			panic(fmt.Sprintf("state: RegisterEnum for %v names %d and %d %q; give each a name of its own", t, min(n, other), max(n, other), name))
		}
		known[name] = n
		e.constants = append(e.constants, constant{name, int64(n)})
	}
	slices.SortFunc(e.constants, func(a, b constant) int { return cmp.Compare(a.number, b.number) })
	if to.enums == nil {
		to.enums = enums{}
	}
	to.enums[t] = e
}

// enums are the enums of Codecs, by type.
type enums map[reflect.Type]*enum

// suffix returns what follows the kind of an enum where a type is described: its name and
// constants. It is empty for other types.
//
//	"game.Slot"("Head"=0,"Hand"=1)
func (e enums) suffix(t reflect.Type) string {
	x := e[t]
	if x == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString(strconv.Quote(x.name))
	for i, c := range x.constants {
		b.WriteByte("(,"[min(i, 1)])
		b.WriteString(strconv.Quote(c.name))
		b.WriteByte('=')
		b.WriteString(strconv.FormatInt(c.number, 10))
	}
	b.WriteByte(')')
	return b.String()
}

// Constants lists the constants of all enums that the values may have, each as a line, so that two
// programs can be compared. What codecs write is not looked at.
func (e *Encoder) Constants() (all []string) {
	seen := map[reflect.Type]bool{}
	for i := range e.parts {
		switch e.parts[i].codec.(type) {
		case nil, cborCodec:
			all = e.enums.lines(all, e.parts[i].typ, seen)
		}
	}
	slices.Sort(all)
	return all
}

// line is a constant, as Constants lists it.
func (x *enum) line(c constant) string { return fmt.Sprintf("%s %q = %d", x.name, c.name, c.number) }

// lines appends the constants of a type, and of those within it that it has not seen.
func (e enums) lines(all []string, t reflect.Type, seen map[reflect.Type]bool) []string {
	if seen[t] || len(e) == 0 {
		return all
	}
	seen[t] = true
	if x := e[t]; x != nil {
		for _, c := range x.constants {
			all = append(all, x.line(c))
		}
		return all
	}
	switch t.Kind() {
	case reflect.Map:
		all = e.lines(e.lines(all, t.Key(), seen), t.Elem(), seen)
	case reflect.Slice, reflect.Array, reflect.Pointer:
		all = e.lines(all, t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			all = e.lines(all, t.Field(i).Type, seen)
		}
	}
	return all
}

// taken has the constants that another program had as numbers without a name, by type.
type taken map[reflect.Type]map[int64]string

// Taken is the method of Form. A type without constants in the other program has plain numbers there,
// which mean what they mean here.
func (e *Encoder) Taken(constants []string) func(value mem.Cells) string {
	all := taken{}
	for t, x := range e.enums {
		if !slices.ContainsFunc(constants, func(line string) bool { return strings.HasPrefix(line, x.name+" ") }) {
			continue
		}
		for _, c := range x.constants {
			if slices.Contains(constants, x.line(c)) {
				continue
			}
			if all[t] == nil {
				all[t] = map[int64]string{}
			}
			all[t][c.number] = c.name
		}
	}
	var parts []*formPart
	for i := range e.parts {
		p := &e.parts[i]
		_, cbor := p.codec.(cborCodec)
		if has := e.enums.lines(nil, p.typ, map[reflect.Type]bool{}); (cbor || p.codec == nil) && slices.ContainsFunc(has, func(line string) bool { return !slices.Contains(constants, line) }) {
			parts = append(parts, p)
		}
	}
	if len(all) == 0 || len(parts) == 0 {
		return nil
	}
	return func(value mem.Cells) string {
		for _, p := range parts {
			if is := all.in(reflect.NewAt(p.typ, value.Part(p.offset).Address).Elem()); is != "" {
				return is
			}
		}
		return ""
	}
}

// in says which of the numbers is in a value, or returns "".
func (x taken) in(v reflect.Value) (is string) {
	if numbers := x[v.Type()]; numbers != nil {
		n := int64(0)
		if v.CanInt() {
			n = v.Int()
		} else {
			n = int64(v.Uint())
		}
		if name, ok := numbers[n]; ok {
			return fmt.Sprintf("has the number %d, which was no constant of %v, and is %q here", n, v.Type(), name)
		}
		return ""
	}
	switch v.Kind() {
	case reflect.Map:
		for i := v.MapRange(); is == "" && i.Next(); {
			if is = x.in(i.Key()); is == "" {
				is = x.in(i.Value())
			}
		}
	case reflect.Slice, reflect.Array:
		if of := v.Type().Elem(); x[of] == nil && of.Kind() <= reflect.Complex128 {
			return ""
		}
		for i := 0; is == "" && i < v.Len(); i++ {
			is = x.in(v.Index(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			is = x.in(v.Elem())
		}
	case reflect.Struct:
		for i := 0; is == "" && i < v.NumField(); i++ {
			is = x.in(v.Field(i))
		}
	}
	return is
}
