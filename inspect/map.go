package inspect

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/atoll-sim/atoll/inspect/internal/query"
	"github.com/atoll-sim/atoll/internal/store"
)

const (
	pointsMax    = 4000 // beyond that there are cells
	cellsMax     = 256  // along a side
	cellsDefault = 200
	legendMax    = 16
)

// plot is what a map shows.
//
// Ownership: the goroutine that computes the answer has its own copy.
type plot struct {
	query  query.Query
	x, y   string // fields
	bySet  bool   // colours are sets of components, not shards
	box    box
	boxed  bool // only what is in box
	cells  int
	key    string
	filter *query.Filter
	fields [2]query.Column
}

// box is a part of the plane.
//
// Ownership: its plot's.
type box struct{ x0, y0, x1, y1 float64 }

// has reports whether a point is in the box, or on its edge.
func (b *box) has(x, y float64) bool { return x >= b.x0 && x <= b.x1 && y >= b.y0 && y <= b.y1 }

// grow makes the box large enough for a point.
func (b *box) grow(x, y float64) {
	b.x0, b.y0, b.x1, b.y1 = min(b.x0, x), min(b.y0, y), max(b.x1, x), max(b.y1, y)
}

var noBox = box{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}

// plotOf reads the parameters of a map. An error is about one of them, for the reader.
func plotOf(r *http.Request) (*plot, error) {
	q := parametersOf(r, "x", "y", "color", "where", "box", "cells")
	p := &plot{x: q.Get("x"), y: q.Get("y"), cells: q.number("cells", cellsDefault, 1, cellsMax), key: "map?" + q.Encode()}
	if p.x == "" || p.y == "" {
		q.fail("x and y are missing; name a numeric field in each, as a query does")
	}
	switch q.Get("color") {
	case "set":
		p.bySet = true
	case "", "shard":
	default:
		q.fail("color is %q, want shard or set", q.Get("color"))
	}
	if text := q.Get("box"); text != "" {
		corners := strings.Split(text, ",")
		var at [4]float64
		ok := len(corners) == 4
		for i := 0; ok && i < 4; i++ {
			var err error
			at[i], err = strconv.ParseFloat(corners[i], 64)
			ok = err == nil && !math.IsInf(at[i], 0) && !math.IsNaN(at[i])
		}
		if p.box, p.boxed = (box{at[0], at[1], at[2], at[3]}), true; !ok || at[0] > at[2] || at[1] > at[3] {
			q.fail("box is %q, want x0,y0,x1,y1 with x0 up to x1 and y0 up to y1", text)
		}
	}
	if q.err != nil {
		return nil, q.err
	}
	var err error
	p.query, err = query.Parse(q.Get("where"))
	return p, err
}

// plane reads the parameters of /api/map, and returns its view. An error is about the parameters.
func (e *entities) plane(r *http.Request) (view, error) {
	p, err := plotOf(r)
	return func(ctx context.Context) ([]byte, error) {
		return e.answers.of(ctx, p.key, frameAge, func(ctx context.Context) ([]byte, error) {
			own := *p
			return e.plot(ctx, &own)
		})
	}, err
}

// drawn returns the view of a map that was drawn once, so that an error comes before a stream
// begins, with a status.
func (e *entities) drawn(r *http.Request) (view, error) {
	v, err := e.plane(r)
	if err == nil {
		_, err = v(r.Context())
	}
	return v, err
}

// resolve finds the fields of the map in the schema. An error names the parameter.
func (p *plot) resolve(s *schema) (err error) {
	if p.filter, err = s.Compile(p.query); err != nil {
		return err
	}
	for i, name := range []string{p.x, p.y} {
		if p.fields[i], err = s.Number(name); err != nil {
			return wrong("xy"[i:i+1], err)
		}
		p.filter.Require(p.fields[i].Component)
	}
	return nil
}

// colour is a shard, or a set of components.
type colour struct {
	shard int
	set   store.Set
}

// colourOf returns the colour of a chunk's rows.
func (p *plot) colourOf(r *query.Rows) colour {
	if p.bySet {
		return colour{set: r.Table.Set()}
	}
	return colour{shard: r.Shard}
}

// each calls f for the rows that the query takes and whose place is a number, within the box if the
// map has one. It only reads.
func (p *plot) each(r *query.Rows, f func(row int, x, y float64)) {
	xs, ys := p.fields[0].Numbers(r), p.fields[1].Numbers(r)
	for _, row := range r.Which {
		x, y := xs(int(row)), ys(int(row))
		if !math.IsNaN(x) && !math.IsNaN(y) && !math.IsInf(x, 0) && !math.IsInf(y, 0) && (!p.boxed || p.box.has(x, y)) {
			f(int(row), x, y)
		}
	}
}

// entry is a line of the legend.
type entry struct {
	colour
	n      int
	others bool // all that have no line
}

// plot draws the map, from a frame that it shares and releases. It reads all rows once for the box
// and the legend, and again for the contents. It runs on the goroutine that computes the answer,
// while the world ticks. An error is for the reader.
func (e *entities) plot(ctx context.Context, p *plot) ([]byte, error) {
	s, err := e.schemas.now(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.resolve(s); err != nil {
		return nil, err
	}
	of, err := e.frames.get(ctx, s.needs(p.filter, p.fields[0].Component, p.fields[1].Component))
	if err != nil {
		return nil, err
	}
	defer e.frames.release(of)
	all, shown, inside, counts := 0, 0, noBox, map[colour]int{}
	err = p.filter.Scan(ctx, of.frozen, e.w.Shards(), func(r *query.Rows) {
		n := 0
		p.each(r, func(_ int, x, y float64) { inside.grow(x, y); n++ })
		all += len(r.Which)
		if shown += n; n > 0 {
			counts[p.colourOf(r)] += n
		}
	})
	if err != nil {
		return nil, err
	}
	switch {
	case p.boxed:
	case shown == 0:
		p.box = box{}
	default:
		p.box, p.boxed = inside, true
	}
	legend, lines := legendOf(counts)
	dst := fmt.Appendf(nil, `{"tick":%d,"x":`, of.tick)
	dst = append(appendText(dst, p.x), `,"y":`...)
	dst = append(appendText(dst, p.y), `,"box":[`...)
	for _, v := range []float64{p.box.x0, p.box.y0, p.box.x1, p.box.y1} {
		dst = appendFloat(appendComma(dst), v, 64)
	}
	dst = fmt.Appendf(dst, `],"all":%d,"shown":%d,"binned":%t,"legend":[`, all, shown, shown > pointsMax)
	for _, line := range legend {
		dst = append(appendText(append(appendComma(dst), `{"label":`...), line.label(p, s)), fmt.Sprintf(`,"n":%d}`, line.n)...)
	}
	dst = append(dst, ']')
	if shown > pointsMax {
		return e.bin(ctx, dst, p, of, lines, len(legend))
	}
	dst = append(dst, `,"points":[`...)
	err = p.filter.Scan(ctx, of.frozen, e.w.Shards(), func(r *query.Rows) {
		hs, line := r.Chunk.Handles(), lines[p.colourOf(r)]
		p.each(r, func(row int, x, y float64) {
			dst = append(appendFloat(append(appendComma(dst), '['), x, 64), ',')
			dst = fmt.Appendf(appendFloat(dst, y, 64), `,%d,%q]`, line, hs[row])
		})
	})
	return append(dst, "]}"...), err
}

// legendOf returns the legend of an answer, the most frequent colours first, and the line of each
// colour.
func legendOf(counts map[colour]int) (legend []entry, lines map[colour]int) {
	for c, n := range counts {
		legend = append(legend, entry{colour: c, n: n})
	}
	slices.SortFunc(legend, func(a, b entry) int {
		return cmp.Or(b.n-a.n, a.shard-b.shard, slices.Compare(a.set[:], b.set[:]))
	})
	lines = map[colour]int{}
	for i, e := range legend {
		lines[e.colour] = min(i, legendMax-1)
	}
	if len(legend) > legendMax {
		last := entry{others: true}
		for _, e := range legend[legendMax-1:] {
			last.n += e.n
		}
		legend = append(legend[:legendMax-1], last)
	}
	return legend, lines
}

// label names the entities of a line of the legend.
func (e *entry) label(p *plot, s *schema) string {
	switch {
	case e.others:
		return "others"
	case !p.bySet:
		return "shard " + strconv.Itoa(e.shard)
	}
	return strings.Join(s.componentsOf(e.set), ", ")
}

// bin appends the cells of a map that has more than pointsMax points, from the frame. An error is
// that of ctx: the answer is then dropped.
func (e *entities) bin(ctx context.Context, dst []byte, p *plot, of *frame, lines map[colour]int, colours int) ([]byte, error) {
	n := p.cells
	counts := make([]uint32, n*n*colours)
	along := func(v, from, to float64) int {
		if to <= from {
			return 0
		}
		return min(max(int((v-from)/(to-from)*float64(n)), 0), n-1)
	}
	err := p.filter.Scan(ctx, of.frozen, e.w.Shards(), func(r *query.Rows) {
		line := lines[p.colourOf(r)]
		p.each(r, func(_ int, x, y float64) {
			counts[(along(y, p.box.y0, p.box.y1)*n+along(x, p.box.x0, p.box.x1))*colours+line]++
		})
	})
	dst = fmt.Appendf(dst, `,"cells":{"nx":%d,"ny":%d,"cells":[`, n, n)
	for cell := range n * n {
		sum, most, line := uint32(0), uint32(0), 0
		for i, k := range counts[cell*colours : (cell+1)*colours] {
			if sum += k; k > most {
				most, line = k, i
			}
		}
		if sum == 0 {
			continue
		}
		dst = strconv.AppendInt(append(appendComma(dst), '['), int64(cell), 10)
		dst = strconv.AppendUint(append(dst, ','), uint64(sum), 10)
		dst = append(strconv.AppendInt(append(dst, ','), int64(line), 10), ']')
	}
	return append(dst, "]}}"...), err
}
