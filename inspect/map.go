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
type box struct{ x0, y0, x1, y1 float64 }

func (b *box) has(x, y float64) bool { return x >= b.x0 && x <= b.x1 && y >= b.y0 && y <= b.y1 }

func (b *box) grow(x, y float64) {
	b.x0, b.y0, b.x1, b.y1 = min(b.x0, x), min(b.y0, y), max(b.x1, x), max(b.y1, y)
}

var noBox = box{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}

// plotOf reads the parameters of a map.
func plotOf(r *http.Request) (*plot, error) {
	p := parametersOf(r, "x", "y", "color", "where", "box", "cells")
	m := &plot{x: p.Get("x"), y: p.Get("y"), cells: p.number("cells", cellsDefault, 1, cellsMax), key: "map?" + p.Encode()}
	if m.x == "" || m.y == "" {
		p.fail("x and y are missing; name a numeric field in each, as a query does")
	}
	switch p.Get("color") {
	case "set":
		m.bySet = true
	case "", "shard":
	default:
		p.fail("color is %q, want shard or set", p.Get("color"))
	}
	if text := p.Get("box"); text != "" {
		corners := strings.Split(text, ",")
		var at [4]float64
		ok := len(corners) == 4
		for i := 0; ok && i < 4; i++ {
			var err error
			at[i], err = strconv.ParseFloat(corners[i], 64)
			ok = err == nil && !math.IsInf(at[i], 0) && !math.IsNaN(at[i])
		}
		if m.box, m.boxed = (box{at[0], at[1], at[2], at[3]}), true; !ok || at[0] > at[2] || at[1] > at[3] {
			p.fail("box is %q, want x0,y0,x1,y1 with x0 up to x1 and y0 up to y1", text)
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	var err error
	m.query, err = query.Parse(p.Get("where"))
	return m, err
}

func (x *Inspector) serveMap(w http.ResponseWriter, r *http.Request) error {
	m, err := plotOf(r)
	if err != nil {
		return err
	}
	body, err := x.mapOf(r.Context(), m)
	if err != nil {
		return err
	}
	writeBody(w, http.StatusOK, body)
	return nil
}

// mapOf returns a map, which simultaneous readers share.
func (x *Inspector) mapOf(ctx context.Context, m *plot) ([]byte, error) {
	return x.answers.of(ctx, m.key, frameAge, func(ctx context.Context) ([]byte, error) {
		own := *m
		return x.plot(ctx, &own)
	})
}

// resolve finds the fields of the map.
func (m *plot) resolve(s *schema) (err error) {
	if m.filter, err = s.Compile(m.query); err != nil {
		return err
	}
	for i, name := range []string{m.x, m.y} {
		if m.fields[i], err = s.Number(name); err != nil {
			return wrong("xy"[i:i+1], err)
		}
		m.filter.Require(m.fields[i].Component)
	}
	return nil
}

// colour is a shard, or a set of components.
type colour struct {
	shard int
	set   store.Set
}

func (m *plot) colourOf(r *query.Rows) colour {
	if m.bySet {
		return colour{set: r.Table.Set()}
	}
	return colour{shard: r.Shard}
}

// each calls f for the rows that have a place.
func (m *plot) each(r *query.Rows, f func(row int, x, y float64)) {
	xs, ys := m.fields[0].Numbers(r), m.fields[1].Numbers(r)
	for _, row := range r.Which {
		x, y := xs(int(row)), ys(int(row))
		if !math.IsNaN(x) && !math.IsNaN(y) && !math.IsInf(x, 0) && !math.IsInf(y, 0) && (!m.boxed || m.box.has(x, y)) {
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

// plot draws the map. It reads all rows once for the box and the legend, and again for the
// contents.
func (x *Inspector) plot(ctx context.Context, m *plot) ([]byte, error) {
	s, err := x.schemaNow(ctx)
	if err != nil {
		return nil, err
	}
	if err := m.resolve(s); err != nil {
		return nil, err
	}
	of, err := x.frames.get(ctx, needs(s, m.filter, m.fields[0].Component, m.fields[1].Component))
	if err != nil {
		return nil, err
	}
	defer x.frames.release(of)
	all, shown, inside, counts := 0, 0, noBox, map[colour]int{}
	err = m.filter.Scan(ctx, of.frozen, x.w.Shards(), func(r *query.Rows) {
		n := 0
		m.each(r, func(_ int, x, y float64) { inside.grow(x, y); n++ })
		all += len(r.Which)
		if shown += n; n > 0 {
			counts[m.colourOf(r)] += n
		}
	})
	if err != nil {
		return nil, err
	}
	switch {
	case shown == 0:
		inside = box{}
	case !m.boxed:
		m.box, m.boxed = inside, true
	}
	if !m.boxed {
		m.box = inside
	}
	legend, lines := legendOf(counts)
	dst := fmt.Appendf(nil, `{"tick":%d,"x":`, of.tick)
	dst = append(appendText(dst, m.x), `,"y":`...)
	dst = append(appendText(dst, m.y), `,"box":[`...)
	for i, v := range []float64{m.box.x0, m.box.y0, m.box.x1, m.box.y1} {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendFloat(dst, v, 64)
	}
	dst = fmt.Appendf(dst, `],"all":%d,"shown":%d,"binned":%t,"legend":[`, all, shown, shown > pointsMax)
	for i, e := range legend {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendText(append(dst, `{"label":`...), e.label(m, s)), fmt.Sprintf(`,"n":%d}`, e.n)...)
	}
	dst = append(dst, ']')
	if shown > pointsMax {
		return x.bin(ctx, dst, m, of, lines, len(legend))
	}
	dst = append(dst, `,"points":[`...)
	err = m.filter.Scan(ctx, of.frozen, x.w.Shards(), func(r *query.Rows) {
		hs, line := r.Chunk.Handles(), lines[m.colourOf(r)]
		m.each(r, func(row int, x, y float64) {
			if dst[len(dst)-1] != '[' {
				dst = append(dst, ',')
			}
			dst = append(appendFloat(append(dst, '['), x, 64), ',')
			dst = fmt.Appendf(appendFloat(dst, y, 64), `,%d,%q]`, line, hs[row])
		})
	})
	return append(dst, "]}"...), err
}

// legendOf returns the legend, the most frequent colours first, and the line of each colour.
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

func (e *entry) label(m *plot, s *schema) string {
	switch {
	case e.others:
		return "others"
	case !m.bySet:
		return "shard " + strconv.Itoa(e.shard)
	}
	var names []string
	for id := range e.set.All {
		names = append(names, s.Components[id].Name)
	}
	return strings.Join(names, ", ")
}

// bin appends the cells of a map that has more than pointsMax points.
func (x *Inspector) bin(ctx context.Context, dst []byte, m *plot, of *frame, lines map[colour]int, colours int) ([]byte, error) {
	n := m.cells
	counts := make([]uint32, n*n*colours)
	along := func(v, from, to float64) int {
		if to <= from {
			return 0
		}
		return min(max(int((v-from)/(to-from)*float64(n)), 0), n-1)
	}
	err := m.filter.Scan(ctx, of.frozen, x.w.Shards(), func(r *query.Rows) {
		line := lines[m.colourOf(r)]
		m.each(r, func(_ int, x, y float64) {
			counts[(along(y, m.box.y0, m.box.y1)*n+along(x, m.box.x0, m.box.x1))*colours+line]++
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
		if dst[len(dst)-1] != '[' {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(append(dst, '['), int64(cell), 10)
		dst = strconv.AppendUint(append(dst, ','), uint64(sum), 10)
		dst = append(strconv.AppendInt(append(dst, ','), int64(line), 10), ']')
	}
	return append(dst, "]}}"...), err
}
