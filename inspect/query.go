package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/inspect/internal/query"
	"github.com/atoll-sim/atoll/internal/mem"
)

const (
	rowsMax     = 1000
	rowsDefault = 50
	answerMax   = 4 << 20 // bytes of rows, about
	showMax     = 16      // components that a row shows
	totalsMax   = 16      // fields that are added up
)

// entities answers questions about entities: queries, maps and single ones.
//
// Ownership: any goroutine.
type entities struct {
	*visitor
	schemas *schemas
	frames  *frames
	answers *answers
	streams *streams
}

// question is a query with its parameters.
type question struct {
	query               query.Query
	show, order, totals string
	down                bool
	limit               int
	after               handle.Handle
}

// serve returns a handler that answers with the view that a request asks for.
func (e *entities) serve(of func(*http.Request) (view, error)) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		v, err := of(r)
		if err != nil {
			return err
		}
		body, err := v(r.Context())
		if err == nil {
			writeBody(w, http.StatusOK, body)
		}
		return err
	}
}

// stream returns a handler that sends the view that a request asks for as an event, at once and
// then after each interval.
func (e *entities) stream(of func(*http.Request) (view, error), event string, interval time.Duration) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		v, err := of(r)
		if err != nil {
			return err
		}
		return e.streams.open(w, r, func(s *stream) error { return s.every(interval, event, v) })
	}
}

// query returns the entities that match, in the order of their handles or of a field.
func (e *entities) query(r *http.Request) (view, error) {
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
		return nil, p.err
	}
	var err error
	q.query, err = query.Parse(p.Get("q"))
	return func(ctx context.Context) ([]byte, error) {
		return e.answers.of(ctx, "query?"+p.Encode(), frameAge, func(ctx context.Context) ([]byte, error) { return e.answer(ctx, q) })
	}, err
}

// answer returns the entities that match as JSON.
func (e *entities) answer(ctx context.Context, q *question) ([]byte, error) {
	s, err := e.schemas.now(ctx)
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
	of, err := e.frames.get(ctx, s.needs(f, more...))
	if err != nil {
		return nil, err
	}
	defer e.frames.release(of)
	err = f.Scan(ctx, of.frozen, e.w.Shards(), func(r *query.Rows) {
		all.Add(r)
		for i := range totals {
			totals[i].Add(r)
		}
	})
	if err != nil {
		return nil, err
	}
	first := all.Sorted()
	dst := fmt.Appendf(nil, `{"tick":%d,"count":%d,"totals":[`, of.tick, all.Count)
	for i := range totals {
		dst = appendTotal(appendComma(dst), &totals[i])
	}
	return q.rows(append(dst, `],"rows":[`...), s, shown, first, all.More), nil
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

// rows appends the rows of an answer, and its end.
func (q *question) rows(dst []byte, s *schema, shown []int, all []query.Found, more bool) []byte {
	for i := range all {
		if len(dst) > answerMax { // the rest is for the next page
			all, more = all[:i], true
			break
		}
		dst = appendRow(appendComma(dst), s, shown, &all[i])
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
	for _, id := range shown {
		if !r.Has(id) {
			continue
		}
		c := &s.Components[id]
		dst = append(appendText(appendComma(dst), c.Name), ':')
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
			dst = strconv.AppendInt(appendComma(dst), int64(i), 10)
		}
	}
	return append(dst, ']')
}
