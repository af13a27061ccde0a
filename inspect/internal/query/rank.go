package query

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/atoll-sim/atoll/handle"
)

// Column is a field of a component that frames have.
type Column struct {
	Component int
	*Field
}

// Column returns the field with a name as queries have it. An error says what it is not.
func (s *Schema) Column(name string) (Column, error) {
	t := &term{name: name}
	if quoted, ok := strings.CutPrefix(name, "`"); ok {
		t.quoted, t.name, _ = strings.Cut(quoted, "`")
		t.name = strings.TrimPrefix(t.name, ".")
	}
	id, path, err := s.find(t)
	if err != nil {
		return Column{}, err
	}
	f, err := s.field(id, path, 0)
	return Column{id, f}, err
}

// Number is Column for a field that is a number. The error says why it is not.
func (s *Schema) Number(name string) (Column, error) {
	c, err := s.Column(name)
	if err == nil && !c.Numeric() {
		err = errorAt(0, "%s is a %v, want a number", name, c.Type)
	}
	return c, err
}

// Numbers returns a function that reads a numeric column of rows as a float64. The rows are of a
// frame, and are only read.
func (c Column) Numbers(r *Rows) func(row int) float64 {
	cells := r.Cells(c.Component)
	return kinds[c.Type.Kind()].numbers(cells.Part(c.offset), cells.Type.Size())
}

// Found is a row of an answer.
type Found struct {
	Handle handle.Handle
	Rows   // of its chunk
	Row    int

	lacks bool   // the component that rows are ordered by
	key   uint64 // of the field, or else
	text  string
}

// Ranking collects the first rows, in the order of a field, or of handles after a given one. It
// keeps no more than twice the limit.
//
// Ownership: the goroutine that scans.
type Ranking struct {
	By    *Column // or nil
	Down  bool    // the greatest first
	After handle.Handle
	Limit int
	Count int     // of all that match, whatever their handles
	More  bool    // there are others after them
	all   []Found // at most twice the limit and one; with More, the first of them in order, as far as the limit
}

// compare says which of two rows comes first. Those without the component come last.
func (r *Ranking) compare(a, b *Found) int {
	c := 0
	switch {
	case a.lacks && !b.lacks:
		return 1
	case !a.lacks && b.lacks:
		return -1
	case a.key != b.key:
		c = cmp.Compare(a.key, b.key)
	case a.text != b.text:
		c = strings.Compare(a.text, b.text)
	default:
		return a.Handle.Compare(b.Handle)
	}
	if r.Down {
		return -c
	}
	return c
}

// Add adds the rows that Scan found in a chunk. It copies of them what Sorted needs, but not the
// components: the frame must stay.
func (r *Ranking) Add(rows *Rows) {
	r.Count += len(rows.Which)
	hs := rows.Chunk.Handles()
	var values reflect.Value
	if r.By != nil && rows.Has(r.By.Component) {
		values = reflect.ValueOf(rows.Cells(r.By.Component).Values)
	}
	for _, row := range rows.Which {
		f := Found{Handle: hs[row], Row: int(row), lacks: r.By != nil && !values.IsValid()}
		if f.Handle <= r.After {
			continue
		}
		if values.IsValid() {
			f.key, f.text = keyOf(r.By.Of(values.Index(int(row))))
		}
		if r.More && r.compare(&f, &r.all[r.Limit-1]) > 0 {
			continue
		}
		f.Rows = *rows
		if r.all = append(r.all, f); len(r.all) > 2*r.Limit {
			r.Sorted()
		}
	}
}

// Sorted returns the first rows in their order, and forgets the others.
func (r *Ranking) Sorted() []Found {
	slices.SortFunc(r.all, func(a, b Found) int { return r.compare(&a, &b) })
	if len(r.all) > r.Limit {
		r.all, r.More = r.all[:r.Limit], true
	}
	return r.all
}

// keyOf returns what Ranking sorts a field's value by: a number, or a text. NaN comes after all
// other numbers.
func keyOf(v reflect.Value) (uint64, string) {
	const sign = 1 << 63
	switch {
	case v.CanInt():
		return uint64(v.Int()) ^ sign, ""
	case v.CanUint():
		return v.Uint(), ""
	case v.CanFloat():
		f := v.Float()
		bits := math.Float64bits(f)
		switch {
		case f == 0:
			return sign, ""
		case f < 0:
			return ^bits, ""
		}
		return bits | sign, ""
	case v.Kind() == reflect.Bool:
		if v.Bool() {
			return 1, ""
		}
		return 0, ""
	}
	return 0, v.String()
}

// Total is the sum, the least and the greatest of a field's values. NaN does not count.
type Total struct {
	Column
	Name             string
	Count            int
	Sum, Least, Most float64
}

// Add adds the rows that Scan found in a chunk. It copies the numbers that it needs.
func (t *Total) Add(rows *Rows) {
	if !rows.Has(t.Component) {
		return
	}
	value := t.Numbers(rows)
	for _, row := range rows.Which {
		v := value(int(row))
		if math.IsNaN(v) {
			continue
		}
		if t.Count++; t.Count == 1 {
			t.Least, t.Most = v, v
		}
		t.Sum, t.Least, t.Most = t.Sum+v, min(t.Least, v), max(t.Most, v)
	}
}
