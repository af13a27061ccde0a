package query

import (
	"cmp"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/store"
)

// Filter is a query of a world.
//
// Ownership: of the goroutine that compiles it; once nobody calls Require, any may scan.
type Filter struct {
	Named           []int // the components that it asks for, in the order of its text
	has, hasNot     store.Set
	flags, flagsNot uint8
	shard           int // or -1
	entity          handle.Handle
	never           bool // terms contradict each other
	tests           []test
}

// test is a comparison of a field.
//
// Ownership: its Filter's.
type test struct {
	component int
	field     *Field
	op        op
	number    uint64 // what a number is compared with, as bits of the field's type; a handle; 1 for true
	text      string
}

// find splits a name into the component that it begins with and the path of a field. An error
// suggests components.
func (s *Schema) find(t *term) (id int, path string, err error) {
	name, path := t.name, ""
	if t.quoted != "" {
		name, path = t.quoted, t.name
	}
	for {
		if id, ok := s.byName[name]; ok {
			return id, path, nil
		}
		dot := strings.LastIndexByte(name, '.')
		if t.quoted != "" || dot < 0 {
			return 0, "", s.unknown(cmp.Or(t.quoted, t.name), t.at)
		}
		name, path = name[:dot], t.name[dot+1:]
	}
}

// Compile makes a filter of a query. The goroutine that computes an answer calls it. Its errors
// have the column of the query.
func (s *Schema) Compile(q Query) (*Filter, error) {
	f := &Filter{shard: -1}
	for i := range q.terms {
		if err := f.add(s, &q.terms[i]); err != nil {
			return nil, err
		}
	}
	f.never = f.never || f.has.Meets(&f.hasNot) || f.flags&f.flagsNot != 0
	return f, nil
}

// Require leaves out entities without a component.
func (f *Filter) Require(component int) {
	f.has.Add(component)
	f.never = f.never || f.hasNot.Has(component)
}

// Needs returns the components that a frame must have for Scan.
func (f *Filter) Needs() (set store.Set) {
	for _, t := range f.tests {
		set.Add(t.component)
	}
	return set
}

// add adds a term. After an error the filter is of no use.
func (f *Filter) add(s *Schema, t *term) error {
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
			return errorAt(t.at, "want a component or flag behind !")
		}
		f.never = f.never || t.on == onShard && f.shard >= 0 && f.shard != t.number || t.on == onHandle && f.entity != handle.None && f.entity != t.handle
		if t.on == onShard {
			f.shard = t.number
		} else {
			f.entity = t.handle
		}
		return nil
	}
	id, path, err := s.find(t)
	if err != nil {
		return err
	}
	if t.not {
		f.hasNot.Add(id)
	} else if f.has.Add(id); !slices.Contains(f.Named, id) {
		f.Named = append(f.Named, id)
	}
	if t.op == opNone {
		if path != "" {
			return errorAt(t.at, "want a comparison behind the field %s, or the component %s alone", path, s.Components[id].Name)
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

// verdict is the result of a comparison without looking at values.
type verdict int

const (
	asked verdict = iota // it depends on the value
	never
	always
)

// verdictOf returns the verdict on what holds for all values or for none.
func verdictOf(is bool) verdict {
	if is {
		return always
	}
	return never
}

// against adds the literal to the test, or decides the comparison without looking at values. An
// error says what a field of this type is compared with.
func (t *test) against(l *literal) (verdict, error) {
	wants := func(what string) error {
		return errorAt(l.at, "want %s for a %v, not %s", what, t.field.Type, l.text)
	}
	k := t.field.Type.Kind()
	switch {
	case t.field.IsHandle():
		h, err := handle.Parse(l.text)
		if t.number = uint64(h); err != nil || t.op < opEqual {
			return never, wants(`== or != and a handle as "3:1047@5" or "none"`)
		}
	case k == reflect.String:
		if t.text = l.text; !l.quoted {
			return never, wants("a text in quotes")
		}
	case k == reflect.Bool:
		if l.text == "true" {
			t.number = 1
		}
		if t.op < opEqual || l.quoted || l.text != "true" && l.text != "false" {
			return never, wants("== or != and true or false")
		}
	default:
		f, err := strconv.ParseFloat(l.text, 64)
		if err != nil || l.quoted || len(l.text) > 64 || strings.ContainsAny(l.text, "xX_pP") {
			return never, wants("a number")
		}
		switch k {
		case reflect.Float64:
			t.number = math.Float64bits(f)
		case reflect.Float32:
			t.number = uint64(math.Float32bits(float32(f)))
		default:
			return t.whole(l.text, f)
		}
	}
	return asked, nil
}

// whole completes a test of an integer, for against. Numbers between two integers, or outside the
// type's range, are decided here, so that no value need be converted. It returns no error.
func (t *test) whole(text string, f float64) (verdict, error) {
	v, isWhole := new(big.Int).SetString(strings.TrimPrefix(text, "+"), 10)
	if !isWhole {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			less := t.op == opLess || t.op == opLessEqual
			more := t.op == opGreater || t.op == opGreaterEqual
			return verdictOf(t.op == opNotEqual || less && f > 0 || more && f < 0), nil
		}
		down := math.Floor(f)
		v, _ = big.NewFloat(down).Int(nil)
		if down != f {
			switch t.op {
			case opEqual, opNotEqual:
				return verdictOf(t.op == opNotEqual), nil
			case opLess:
				t.op = opLessEqual
			case opGreaterEqual:
				t.op = opGreater
			}
		}
	}
	bits := t.field.Type.Bits()
	least, most := new(big.Int), new(big.Int)
	if t.field.Type.Kind() <= reflect.Int64 {
		bits--
		least.Neg(least.Lsh(big.NewInt(1), uint(bits)))
	}
	most.Sub(most.Lsh(big.NewInt(1), uint(bits)), big.NewInt(1))
	switch {
	case v.Cmp(least) < 0:
		return verdictOf(t.op == opGreater || t.op == opGreaterEqual || t.op == opNotEqual), nil
	case v.Cmp(most) > 0:
		return verdictOf(t.op == opLess || t.op == opLessEqual || t.op == opNotEqual), nil
	case v.Sign() < 0:
		t.number = uint64(v.Int64())
	default:
		t.number = v.Uint64()
	}
	return asked, nil
}
