package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/inspect/internal/query"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/world"
)

const (
	rowsMax     = 1000
	rowsDefault = 50
	answerMax   = 4 << 20 // bytes of rows, about
	showMax     = 16      // components that a row shows
	totalsMax   = 16      // fields that are added up
)

// parameters are those of a request. err is for the first wrong one.
type parameters struct {
	url.Values
	err error
}

// parametersOf returns the parameters of a request. Unknown and repeated ones are errors.
func parametersOf(r *http.Request, known ...string) parameters {
	values, err := url.ParseQuery(r.URL.RawQuery)
	p := parameters{Values: values}
	if err != nil {
		p.fail("the address has a bad escape or separator: %v", err)
	}
	for name, all := range values {
		if !slices.Contains(known, name) {
			p.fail("there is no parameter %q; there are %s", name, strings.Join(known, ", "))
		} else if len(all) > 1 {
			p.fail("the parameter %s is there twice", name)
		}
	}
	return p
}

func (p *parameters) fail(format string, values ...any) {
	if p.err == nil {
		p.err = refuse(http.StatusBadRequest, fmt.Sprintf(format, values...))
	}
}

// wrong returns the refusal of a parameter.
func wrong(parameter string, err error) error {
	return refuse(http.StatusBadRequest, parameter+": "+err.Error())
}

// number returns a whole number.
func (p *parameters) number(name string, otherwise, least, most int) int {
	text := p.Get(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		p.fail("%s is %q, want a number from %d to %d", name, text, least, most)
	}
	return n
}

// handle returns a handle, or None if there is no such parameter.
func (p *parameters) handle(name string) handle.Handle {
	text := p.Get(name)
	if text == "" {
		return handle.None
	}
	h, err := handle.Parse(text)
	if err != nil || h == handle.None {
		p.fail("%s is %q, want a handle as 3:1047@5", name, text)
	}
	return h
}

// schemaNow returns the schema. What was registered recently may be missing.
func (x *Inspector) schemaNow(ctx context.Context) (s *schema, err error) {
	if s = x.schemas.known(); s != nil {
		return s, nil
	}
	err = x.asks.do(ctx, func(w *world.World) { s = x.schemas.of(w) })
	return s, err
}

// question is a query with its parameters.
type question struct {
	query               query.Query
	show, order, totals string
	down                bool
	limit               int
	after               handle.Handle
}

// serveQuery answers with entities that match, in the order of their handles or of a field.
func (x *Inspector) serveQuery(w http.ResponseWriter, r *http.Request) error {
	p := parametersOf(r, "q", "limit", "after", "show", "order", "down", "total")
	q := &question{
		show: p.Get("show"), order: p.Get("order"), totals: p.Get("total"), down: p.number("down", 0, 0, 1) == 1,
		limit: p.number("limit", rowsDefault, 1, rowsMax), after: p.handle("after"),
	}
	switch {
	case q.order != "" && q.after != handle.None:
		p.fail("after goes on in the order of handles; leave out order, or ask for more rows with limit")
	case q.order == "" && q.down:
		p.fail("down is of order, which is missing")
	}
	if p.err != nil {
		return p.err
	}
	var err error
	if q.query, err = query.Parse(p.Get("q")); err != nil {
		return err
	}
	body, err := x.answers.of(r.Context(), "query?"+p.Encode(), frameAge, func(ctx context.Context) ([]byte, error) {
		return q.answer(ctx, x)
	})
	if err != nil {
		return err
	}
	writeBody(w, http.StatusOK, body)
	return nil
}

// shown returns the components that rows show: those in show, or if that is empty those of the
// query.
func (q *question) shown(s *schema, f *query.Filter) ([]int, error) {
	all := slices.Clone(f.Named)
	if q.show != "" {
		all = all[:0]
		for name := range strings.SplitSeq(q.show, ",") {
			id, err := s.Lookup(strings.TrimSpace(name))
			if err != nil {
				return nil, wrong("show", err)
			}
			if !slices.Contains(all, id) {
				all = append(all, id)
			}
		}
	}
	if len(all) > showMax {
		return nil, refuse(http.StatusBadRequest, fmt.Sprintf("%d components are to be shown, want %d or fewer; name some in show", len(all), showMax))
	}
	return all, nil
}

// sums returns a total, of nothing yet, of each field that totals names.
func (q *question) sums(s *schema) (all []query.Total, err error) {
	if q.totals == "" {
		return nil, nil
	}
	if n := strings.Count(q.totals, ",") + 1; n > totalsMax {
		return nil, refuse(http.StatusBadRequest, fmt.Sprintf("total has %d fields, want %d or fewer", n, totalsMax))
	}
	for name := range strings.SplitSeq(q.totals, ",") {
		t := query.Total{Name: strings.TrimSpace(name)}
		if t.Column, err = s.Number(t.Name); err != nil {
			return nil, wrong("total", err)
		}
		all = append(all, t)
	}
	return all, nil
}

// needs returns the components that a frame must have for a filter and for more, if frames can
// have those.
func needs(s *schema, f *query.Filter, more ...int) store.Set {
	set := f.Needs()
	for _, id := range more {
		if s.Components[id].Framed {
			set.Add(id)
		}
	}
	return set
}

// answer returns the entities that match as JSON.
func (q *question) answer(ctx context.Context, x *Inspector) ([]byte, error) {
	s, err := x.schemaNow(ctx)
	if err != nil {
		return nil, err
	}
	f, err := s.Compile(q.query)
	if err != nil {
		return nil, err
	}
	shown, err := q.shown(s, f)
	if err != nil {
		return nil, err
	}
	totals, err := q.sums(s)
	if err != nil {
		return nil, err
	}
	all, more := query.Ranking{Down: q.down, After: q.after, Limit: q.limit}, slices.Clone(shown)
	if q.order != "" {
		by, err := s.Column(q.order)
		if err != nil {
			return nil, wrong("order", err)
		}
		all.By, more = &by, append(more, by.Component)
	}
	for _, t := range totals {
		more = append(more, t.Component)
	}
	of, err := x.frames.get(ctx, needs(s, f, more...))
	if err != nil {
		return nil, err
	}
	defer x.frames.release(of)
	err = f.Scan(ctx, of.frozen, x.w.Shards(), func(r *query.Rows) {
		all.Add(r)
		for i := range totals {
			totals[i].Add(r)
		}
	})
	if err != nil {
		return nil, err
	}
	dst := fmt.Appendf(nil, `{"tick":%d,"count":%d,"totals":[`, of.tick, all.Count)
	for i := range totals {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendTotal(dst, &totals[i])
	}
	return q.rows(append(dst, `],"rows":[`...), s, shown, all.Sorted(), all.More), nil
}

// rows appends the rows of an answer, and its end.
func (q *question) rows(dst []byte, s *schema, shown []int, all []query.Found, more bool) []byte {
	for i := range all {
		if len(dst) > answerMax { // the rest is for the next page
			all, more = all[:i], true
			break
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendRow(dst, s, shown, &all[i])
	}
	next := ""
	if more && len(all) > 0 && q.order == "" {
		next = all[len(all)-1].Handle.String()
	}
	return fmt.Appendf(dst, `],"more":%t,"next":%q}`, more, next)
}

// appendRow appends a row as JSON.
func appendRow(dst []byte, s *schema, shown []int, r *query.Found) []byte {
	dst = fmt.Appendf(dst, `{"handle":%q,"shard":%d,"flags":`, r.Handle, r.Shard)
	dst = appendFlags(dst, uint8(r.Chunk.FlagsAt(r.Row)))
	if len(s.namings) > 0 {
		names, _ := json.Marshal(s.namesOf(r.Handle)) // of texts
		dst = append(append(dst, `,"names":`...), names...)
	}
	dst = append(dst, `,"components":{`...)
	first := true
	for _, id := range shown {
		if !r.Has(id) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		c := &s.Components[id]
		dst = append(appendText(dst, c.Name), ':')
		if c.Framed {
			dst = appendValue(dst, valueAt(r.Cells(id), r.Row), true)
		} else {
			dst = appendText(dst, "not in copies: "+c.WhyNot)
		}
	}
	return append(dst, "}}"...)
}

// appendTotal appends a total as JSON.
func appendTotal(dst []byte, t *query.Total) []byte {
	dst = append(appendText(append(dst, `{"field":`...), t.Name), fmt.Sprintf(`,"count":%d`, t.Count)...)
	if t.Count > 0 {
		dst = appendFloat(append(dst, `,"sum":`...), t.Sum, 64)
		dst = appendFloat(append(dst, `,"min":`...), t.Least, 64)
		dst = appendFloat(append(dst, `,"max":`...), t.Most, 64)
	}
	return append(dst, '}')
}

// valueAt returns a copy of a value, whose methods may be called.
func valueAt(cells mem.Cells, row int) reflect.Value {
	v := reflect.New(cells.Type).Elem()
	v.Set(reflect.ValueOf(cells.Values).Index(row))
	return v
}

// appendFlags appends the numbers of flags.
func appendFlags(dst []byte, flags uint8) []byte {
	dst = append(dst, '[')
	for i := range 8 {
		if flags>>i&1 != 0 {
			if dst[len(dst)-1] != '[' {
				dst = append(dst, ',')
			}
			dst = strconv.AppendInt(dst, int64(i), 10)
		}
	}
	return append(dst, ']')
}
