package inspect

import (
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/store"
)

// filter is a query of a world.
type filter struct {
	has, hasNot     store.Set
	flags, flagsNot uint8
	shard           int // or -1
	entity          handle.Handle
	never           bool // terms contradict each other
	tests           []test
	named           []int // the components, in the order of the query
}

// test is a comparison of a field.
type test struct {
	component int
	field     *field
	op        op
	number    uint64 // what a number is compared with, as bits of the field's type; a handle; 1 for true
	text      string
}

const showMax = 16 // components that a row shows

// find splits a name into the component that it begins with and the path of a field.
func (s *schema) find(t *term) (id int, path string, ok bool) {
	if t.quoted != "" {
		id, ok = s.byName[t.quoted]
		return id, t.name, ok
	}
	for name := t.name; ; path = t.name[len(name)+1:] {
		if id, ok = s.byName[name]; ok {
			return id, path, true
		}
		dot := strings.LastIndexByte(name, '.')
		if dot < 0 {
			return 0, "", false
		}
		name = name[:dot]
	}
}

// namesTold is how many components an error lists.
const namesTold = 12

// noComponent returns the error for an unknown component. It suggests a similar name, or lists
// some.
func (s *schema) noComponent(name string) string {
	var all []string
	for i := range s.components {
		of := s.components[i].name
		if rest := name[min(len(of), len(name)):]; strings.EqualFold(name[:len(name)-len(rest)], of) && (rest == "" || rest[0] == '.') {
			return fmt.Sprintf("there is no component %q; %q is one, and case matters", name, of)
		}
		all = append(all, of)
	}
	told := strings.Join(all[:min(namesTold, len(all))], ", ")
	if len(all) > namesTold {
		told += ", …"
	}
	return fmt.Sprintf("there is no component %q; there are: %s", name, told)
}

// compile makes a filter of a query. Its errors have the column.
func (s *schema) compile(query string) (*filter, error) {
	terms, err := parse(query)
	if err != nil {
		return nil, err
	}
	f := &filter{shard: -1}
	for i := range terms {
		if err := f.add(s, &terms[i]); err != nil {
			return nil, err
		}
	}
	f.never = f.never || f.has.Meets(&f.hasNot) || f.flags&f.flagsNot != 0
	return f, nil
}

func (f *filter) add(s *schema, t *term) error {
	switch t.on {
	case onFlag:
		if t.not {
			f.flagsNot |= 1 << t.number
		} else {
			f.flags |= 1 << t.number
		}
		return nil
	case onShard, onHandle:
		if t.not {
			return syntaxError(t.at, "want a component or flag behind !")
		}
		f.never = f.never || t.on == onShard && f.shard >= 0 && f.shard != t.number || t.on == onHandle && f.entity != handle.None && f.entity != t.handle
		if t.on == onShard {
			f.shard = t.number
		} else {
			f.entity = t.handle
		}
		return nil
	}
	id, path, ok := s.find(t)
	if !ok {
		return syntaxError(t.at, "%s", s.noComponent(t.quoted+t.name))
	}
	if t.not {
		f.hasNot.Add(id)
	} else if f.has.Add(id); !contains(f.named, id) {
		f.named = append(f.named, id)
	}
	if t.op == opNone {
		if path != "" {
			return syntaxError(t.at, "want a comparison behind the field %s, or the component %s alone", path, s.components[id].name)
		}
		return nil
	}
	x, err := s.field(id, path, t.at)
	if err != nil {
		return err
	}
	f.tests = append(f.tests, test{component: id, field: x, op: t.op})
	verdict, err := f.tests[len(f.tests)-1].against(&t.value)
	if verdict != asked {
		f.tests = f.tests[:len(f.tests)-1]
	}
	f.never = f.never || verdict == never
	return err
}

func contains(all []int, id int) bool {
	for _, x := range all {
		if x == id {
			return true
		}
	}
	return false
}

// field returns a field of a component that frames have.
func (s *schema) field(id int, path string, at int) (*field, error) {
	c := &s.components[id]
	if !c.framed {
		return nil, syntaxError(at, "fields of %s cannot be asked for: %s", c.name, c.whyNot)
	}
	for i := range c.fields {
		if c.fields[i].path == path {
			return &c.fields[i], nil
		}
	}
	if path == "" {
		return nil, syntaxError(at, "%s is a %v, want one of its fields%s", c.name, c.typ, c.somePaths())
	}
	return nil, syntaxError(at, "%s has no field %s that is a number, truth value, text or handle%s", c.name, path, c.somePaths())
}

// somePaths lists fields, for messages.
func (c *component) somePaths() string {
	var some []string
	for _, f := range c.fields[:min(len(c.fields), 5)] {
		some = append(some, c.name+"."+f.path)
	}
	if len(some) == 0 {
		return ""
	}
	return ", as " + strings.Join(some, ", ")
}

// verdict is the result of a comparison without looking at values.
type verdict int

const (
	asked verdict = iota // it depends on the value
	never
	always
)

func verdictOf(is bool) verdict {
	if is {
		return always
	}
	return never
}

// against adds the literal to the test.
func (x *test) against(l *literal) (verdict, error) {
	wants := func(what string) error {
		return syntaxError(l.at, "want %s for a %v, not %s", what, x.field.typ, l.text)
	}
	k := x.field.typ.Kind()
	switch {
	case x.field.typ == handleType:
		h, err := handle.Parse(l.text)
		if x.number = uint64(h); err != nil || x.op < opEqual {
			return never, wants(`== or != and a handle as "3:1047@5" or "none"`)
		}
	case k == reflect.String:
		if x.text = l.text; !l.quoted {
			return never, wants("a text in quotes")
		}
	case k == reflect.Bool:
		if l.text == "true" {
			x.number = 1
		}
		if x.op < opEqual || l.quoted || l.text != "true" && l.text != "false" {
			return never, wants("== or != and true or false")
		}
	default:
		f, err := strconv.ParseFloat(l.text, 64)
		if err != nil || l.quoted || len(l.text) > 64 || strings.ContainsAny(l.text, "xX_pP") {
			return never, wants("a number")
		}
		switch k {
		case reflect.Float64:
			x.number = math.Float64bits(f)
		case reflect.Float32:
			x.number = uint64(math.Float32bits(float32(f)))
		default:
			return x.whole(l.text, f)
		}
	}
	return asked, nil
}

// whole completes a test of an integer. Numbers between two integers, or outside the type's range,
// are decided here, so that no value need be converted.
func (x *test) whole(text string, f float64) (verdict, error) {
	v, isWhole := new(big.Int).SetString(strings.TrimPrefix(text, "+"), 10)
	if !isWhole {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			less := x.op == opLess || x.op == opLessEqual
			more := x.op == opGreater || x.op == opGreaterEqual
			return verdictOf(x.op == opNotEqual || less && f > 0 || more && f < 0), nil
		}
		down := math.Floor(f)
		v, _ = big.NewFloat(down).Int(nil)
		if down != f {
			switch x.op {
			case opEqual, opNotEqual:
				return verdictOf(x.op == opNotEqual), nil
			case opLess:
				x.op = opLessEqual
			case opGreaterEqual:
				x.op = opGreater
			}
		}
	}
	bits := x.field.typ.Bits()
	least, most := new(big.Int), new(big.Int)
	if x.field.typ.Kind() <= reflect.Int64 {
		bits--
		least.Neg(least.Lsh(big.NewInt(1), uint(bits)))
	}
	most.Sub(most.Lsh(big.NewInt(1), uint(bits)), big.NewInt(1))
	switch {
	case v.Cmp(least) < 0:
		return verdictOf(x.op == opGreater || x.op == opGreaterEqual || x.op == opNotEqual), nil
	case v.Cmp(most) > 0:
		return verdictOf(x.op == opLess || x.op == opLessEqual || x.op == opNotEqual), nil
	case v.Sign() < 0:
		x.number = uint64(v.Int64())
	default:
		x.number = v.Uint64()
	}
	return asked, nil
}
