package inspect

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/atoll-sim/atoll/handle"
)

// totalsMax is how many fields a query adds up.
const totalsMax = 16

// column is a field of a component that frames have.
type column struct {
	component int
	field     *field
}

// column returns the field with a name as queries have it, for a parameter.
func (s *schema) column(parameter, name string) (column, error) {
	t := &term{name: name}
	if quoted, ok := strings.CutPrefix(name, "`"); ok {
		t.quoted, t.name, _ = strings.Cut(quoted, "`")
		t.name = strings.TrimPrefix(t.name, ".")
	}
	id, path, ok := s.find(t)
	if !ok {
		return column{}, refuse(http.StatusBadRequest, parameter+": "+s.noComponent(name))
	}
	f, err := s.field(id, path, 0)
	if err != nil {
		return column{}, refuse(http.StatusBadRequest, parameter+": "+err.Error())
	}
	return column{id, f}, nil
}

// number is column for a field that is a number.
func (s *schema) number(parameter, name string) (column, error) {
	c, err := s.column(parameter, name)
	if err == nil && !c.field.numeric() {
		err = refuse(http.StatusBadRequest, fmt.Sprintf("%s: %s is a %v, want a number", parameter, name, c.field.typ))
	}
	return c, err
}

// found is a row of an answer.
type found struct {
	handle handle.Handle
	rows   // of its chunk
	row    int

	lacks bool   // the component that rows are ordered by
	key   uint64 // of the field, or else
	text  string
}

// ranking collects the first rows, in the order of a field, or of handles after a given one. It
// keeps no more than the limit.
type ranking struct {
	by    *column // or nil
	down  bool    // the greatest first
	after handle.Handle
	limit int
	all   []found // a heap, with the row that comes last on top
	count int     // of all that match, whatever their handles
	more  bool    // there are others after them
}

// compare says which of two rows comes first. Those without the component come last.
func (p *ranking) compare(a, b *found) int {
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
		return a.handle.Compare(b.handle)
	}
	if p.down {
		return -c
	}
	return c
}

func (p *ranking) Len() int           { return len(p.all) }
func (p *ranking) Less(i, j int) bool { return p.compare(&p.all[i], &p.all[j]) > 0 }
func (p *ranking) Swap(i, j int)      { p.all[i], p.all[j] = p.all[j], p.all[i] }
func (p *ranking) Push(x any)         { p.all = append(p.all, x.(found)) }
func (p *ranking) Pop() any           { panic("inspect: a ranking gives nothing back") }

func (p *ranking) add(r *rows) {
	p.count += len(r.which)
	hs := r.chunk.Handles()
	set := r.table.Set()
	var values reflect.Value
	if p.by != nil && set.Has(p.by.component) {
		values = reflect.ValueOf(r.cells(p.by.component).Values)
	}
	for _, row := range r.which {
		x := found{handle: hs[row], row: int(row), lacks: p.by != nil && !values.IsValid()}
		if x.handle <= p.after {
			continue
		}
		if values.IsValid() {
			x.key, x.text = keyOf(p.by.field.of(values.Index(int(row))))
		}
		if len(p.all) < p.limit {
			x.rows = *r
			heap.Push(p, x)
			continue
		}
		p.more = true
		if p.compare(&x, &p.all[0]) < 0 {
			x.rows = *r
			p.all[0] = x
			heap.Fix(p, 0)
		}
	}
}

// sorted returns the rows in their order, and ends the ranking.
func (p *ranking) sorted() []found {
	slices.SortFunc(p.all, func(a, b found) int { return p.compare(&a, &b) })
	return p.all
}

// keyOf returns the sort key of a field's value: a number, or a text. NaN comes after all other
// numbers.
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

// total is the sum, the least and the greatest of a field's values. NaN does not count.
type total struct {
	column
	name             string
	count            int
	sum, least, most float64
}

func (t *total) add(r *rows) {
	if set := r.table.Set(); !set.Has(t.component) {
		return
	}
	value := t.field.number(r.cells(t.component))
	for _, row := range r.which {
		v := value(int(row))
		if math.IsNaN(v) {
			continue
		}
		if t.count++; t.count == 1 {
			t.least, t.most = v, v
		}
		t.sum, t.least, t.most = t.sum+v, min(t.least, v), max(t.most, v)
	}
}

// append appends the total as JSON.
func (t *total) append(dst []byte) []byte {
	dst = append(appendText(append(dst, `{"field":`...), t.name), fmt.Sprintf(`,"count":%d`, t.count)...)
	if t.count > 0 {
		dst = appendFloat(append(dst, `,"sum":`...), t.sum, 64)
		dst = appendFloat(append(dst, `,"min":`...), t.least, 64)
		dst = appendFloat(append(dst, `,"max":`...), t.most, 64)
	}
	return append(dst, '}')
}

// totals returns the fields that a parameter names.
func (s *schema) totals(names string) (all []total, err error) {
	if names == "" {
		return nil, nil
	}
	if n := strings.Count(names, ",") + 1; n > totalsMax {
		return nil, refuse(http.StatusBadRequest, fmt.Sprintf("total has %d fields, want %d or fewer", n, totalsMax))
	}
	for name := range strings.SplitSeq(names, ",") {
		name = strings.TrimSpace(name)
		c, err := s.number("total", name)
		if err != nil {
			return nil, err
		}
		all = append(all, total{column: c, name: name})
	}
	return all, nil
}
