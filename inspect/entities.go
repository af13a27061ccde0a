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
	"github.com/atoll-sim/atoll/internal/engine"
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
//
// Ownership: the goroutine of the request; once that has the view, nobody writes it.
type question struct {
	query               query.Query
	show, order, totals string
	down                bool
	limit               int
	after               handle.Handle
}

// serve returns a handler that answers with the view that a request asks for. HTTP requests run it,
// each on its goroutine.
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
// then after each interval. If the request is wrong, the error comes before the stream begins.
func (e *entities) stream(of func(*http.Request) (view, error), event string, interval time.Duration) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		v, err := of(r)
		if err != nil {
			return err
		}
		return e.streams.open(w, r, func(s *stream) error { return s.every(interval, event, v) })
	}
}

// query reads the parameters of /api/query, and returns the view of the entities that match, in the
// order of their handles or of a field. An error is about the parameters.
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

// answer returns the entities that match as JSON, from a frame that it shares and releases. It runs
// on the goroutine that computes the answer, while the world ticks. An error is for the reader.
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
// query. An error names the parameter.
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

// sums returns a total, of nothing yet, of each field that totals names. An error names the
// parameter.
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

// rows appends the rows of an answer, and its end. Names come from the world as it is now, the rest
// from the frame.
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

// appendRow appends a row of an answer as JSON, from the frame. It calls methods of users' types,
// on the goroutine that computes the answer.
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

// appendTotal appends a total of an answer as JSON.
func appendTotal(dst []byte, t *query.Total) []byte {
	dst = append(appendText(append(dst, `{"field":`...), t.Name), fmt.Sprintf(`,"count":%d`, t.Count)...)
	if t.Count > 0 {
		dst = appendFloat(append(dst, `,"sum":`...), t.Sum, 64)
		dst = appendFloat(append(dst, `,"min":`...), t.Least, 64)
		dst = appendFloat(append(dst, `,"max":`...), t.Most, 64)
	}
	return append(dst, '}')
}

// valueAt returns a copy of a value, whose methods may be called. The original belongs to a frame.
func valueAt(cells mem.Cells, row int) reflect.Value {
	v := reflect.New(cells.Type).Elem()
	v.Set(reflect.ValueOf(cells.Values).Index(row))
	return v
}

// appendFlags appends the numbers of flags as a JSON list.
func appendFlags(dst []byte, flags uint8) []byte {
	dst = append(dst, '[')
	for i := range 8 {
		if flags>>i&1 != 0 {
			dst = strconv.AppendInt(appendComma(dst), int64(i), 10)
		}
	}
	return append(dst, ']')
}

const (
	childrenMax   = 100
	referencesMax = 100
)

// entity is the answer of /api/entity.
//
// Ownership: the goroutine that computes the answer; read runs between ticks, while that goroutine
// waits.
type entity struct {
	Tick       uint64            `json:"tick"`
	Handle     handle.Handle     `json:"handle"`
	Status     string            `json:"status"`
	Shard      int               `json:"shard"` // -1 for one that is not alive
	Flags      json.RawMessage   `json:"flags"`
	Components []entityComponent `json:"components"`
	Names      []entityName      `json:"names"`
	Relations  []entityRelation  `json:"relations"`
	References []reference       `json:"references"`
}

type entityComponent struct {
	Name   string          `json:"name"`
	Type   string          `json:"type"`
	Value  json.RawMessage `json:"value"`
	Fields []entityField   `json:"fields"`
	WhyNot string          `json:"why_not,omitempty"`

	id   int
	copy reflect.Value // an assigned copy of the value, so it may share memory with the world
}

type entityField struct {
	Path     string          `json:"path"`
	Type     string          `json:"type"`
	Value    json.RawMessage `json:"value"`
	Editable bool            `json:"editable"`
}

type entityRelation struct {
	Label    string          `json:"label"`
	Parent   string          `json:"parent"` // "" for none
	Children []handle.Handle `json:"children"`
	Count    int             `json:"children_count"`
}

type reference struct {
	Component string        `json:"component"`
	Path      string        `json:"path"`
	Handle    handle.Handle `json:"handle"`
	Status    string        `json:"status"`
}

// single reads the parameter of /api/entity, and returns the view of one entity, once for all
// simultaneous readers. An error is about the parameter.
func (e *entities) single(r *http.Request) (view, error) {
	p := parametersOf(r, "handle")
	h := p.handle("handle")
	if h == handle.None {
		p.fail("the parameter handle is missing")
	}
	return func(ctx context.Context) ([]byte, error) {
		return e.answers.of(ctx, "entity?"+h.String(), frameAge/2, func(ctx context.Context) ([]byte, error) {
			var one entity
			var s *schema
			err := e.do(ctx, func(w *world.World) error {
				s = e.schemas.of(w)
				one.read(w, s, h)
				return nil
			})
			if err != nil {
				return nil, err
			}
			one.write(s)
			return json.Marshal(&one)
		})
	}, p.err
}

// read copies what the entity has from the idle world, between two ticks. It calls no method of a
// user's type, and bounds its work, because the next tick waits for it.
func (e *entity) read(w *world.World, s *schema, h handle.Handle) {
	d := engine.Of(w)
	space := d.Space()
	*e = entity{
		Tick: w.Tick(), Handle: h, Status: w.Status(h).String(), Shard: -1, Flags: appendFlags(nil, 0),
		Components: []entityComponent{}, Names: []entityName{}, Relations: []entityRelation{}, References: []reference{},
	}
	l := space.Locate(h)
	if l == 0 {
		return
	}
	e.Shard, e.Flags = space.Owner(l), appendFlags(nil, uint8(space.FlagsAt(l)))
	for id := range space.Set(l).All {
		c := &s.Components[id]
		of := entityComponent{Name: c.Name, Type: c.Type.String(), WhyNot: c.WhyNot, id: id, copy: reflect.New(c.Type).Elem()}
		of.copy.Set(reflect.ValueOf(store.ValueAt(space.Columns[id], l)))
		if !s.plain[id] {
			of.Value = appendValue(nil, of.copy, false)
		}
		for i := range c.Fields {
			if f := &c.Fields[i]; f.IsHandle() && len(e.References) < referencesMax {
				if to := handle.Handle(f.Of(of.copy).Uint()); to != handle.None {
					e.References = append(e.References, reference{c.Name, f.Path, to, w.Status(to).String()})
				}
			}
		}
		e.Components = append(e.Components, of)
	}
	e.Names = s.namesOf(h)
	for _, of := range d.Survey().Extensions() {
		if f, ok := of.(engine.Family); ok {
			e.relate(of.Name(), f)
		}
	}
}

// relate adds the entity's place in a relation, if it is in it.
func (e *entity) relate(label string, f engine.Family) {
	r := entityRelation{Label: label, Children: []handle.Handle{}}
	if p := f.Parent(e.Handle); p != handle.None {
		r.Parent = p.String()
	}
	children, _ := f.Children(e.Handle)
	for _, child := range children {
		if child == handle.None {
			continue
		}
		if r.Count++; r.Count <= childrenMax {
			r.Children = append(r.Children, child)
		}
	}
	if r.Parent != "" || r.Count > 0 {
		e.Relations = append(e.Relations, r)
	}
}

// write completes the description from the copies. The world ticks on meanwhile, so it calls
// methods of users' types for copies that share nothing with it.
func (e *entity) write(s *schema) {
	for i := range e.Components {
		c := &e.Components[i]
		if c.Fields = []entityField{}; c.Value == nil {
			c.Value = appendValue(nil, c.copy, true)
		}
		fields := s.Components[c.id].Fields
		for k := range fields {
			f := &fields[k]
			v := f.Of(c.copy)
			cut := f.Type.Kind() == reflect.String && v.Len() > textMax // setting it would cut the value for good
			c.Fields = append(c.Fields, entityField{f.Path, f.Type.String(), appendValue(nil, v, false), s.edits(c.id, f) && !cut})
		}
	}
}
