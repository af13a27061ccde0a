package query_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/inspect/internal/query"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/world"
)

// pile has a field of each kind.
type pile struct {
	A int8
	B uint16
	C int64
	D uint64
	E float32
	F float64
	G bool
	H string
	I handle.Handle
	J [3]int16
	K int
	L uint8
	M int32
	N uint32
	O uint
}

type (
	dead  struct{}
	score int32
)

// entity is what an entity of the model has.
type entity struct {
	handle handle.Handle
	shard  int
	flags  world.Flags
	pile   *pile
	score  *score
	dead   bool
}

// model is a random world, and what is in it.
type model struct {
	t      *testing.T
	w      *world.World
	schema *query.Schema
	frame  *engine.Frozen
	all    []entity
}

func newModel(t *testing.T, r *rand.Rand) *model {
	w := world.MustNew(world.Options{Shards: 1 + r.IntN(4)})
	t.Cleanup(func() { w.Close() })
	world.Register[dead](w, "dead")
	world.Register[score](w, "odd/score")
	world.Register[pile](w, "pile")
	type one struct{ pile }
	type both struct {
		pile
		score
	}
	type three struct {
		pile
		score
		dead
	}
	type ghost struct {
		score
		dead
	}
	ones, boths, threes, ghosts := world.NewBundle[one](w), world.NewBundle[both](w), world.NewBundle[three](w), world.NewBundle[ghost](w)
	m := &model{t: t, w: w}
	few := func() int { return r.IntN(7) - 3 }
	for range r.IntN(3000) {
		n := uint(r.IntN(4))
		p := pile{
			int8(few()), uint16(r.IntN(4)), int64(few()), uint64(r.IntN(4)), float32(few()) / 2, float64(few()) / 2, r.IntN(2) == 0, strings.Repeat("x", r.IntN(3)),
			handle.None, [3]int16{int16(few())}, few(), uint8(n), int32(few()), uint32(n), n,
		}
		switch r.IntN(20) {
		case 0:
			p.C, p.D, p.F, p.E = math.MinInt64, math.MaxUint64, math.NaN(), float32(math.Inf(-1))
		case 1:
			p.C, p.A, p.B = math.MaxInt64, math.MinInt8, math.MaxUint16
		}
		if n := len(m.all); n > 0 && r.IntN(2) == 0 {
			p.I = m.all[r.IntN(min(n, 3))].handle
		}
		e := entity{}
		s := score(few())
		var err error
		switch r.IntN(4) {
		case 0:
			e.handle, err = ones.Create(w, one{p})
			e.pile = &p
		case 1:
			e.handle, err = boths.Create(w, both{p, s})
			e.pile, e.score = &p, &s
		case 2:
			e.handle, err = threes.Create(w, three{p, s, dead{}})
			e.pile, e.score, e.dead = &p, &s, true
		case 3:
			e.handle, err = ghosts.Create(w, ghost{s, dead{}})
			e.score, e.dead = &s, true
		}
		require.NoError(t, err)
		e.flags = world.Flags(r.IntN(4))
		require.NoError(t, world.AddFlags(w, e.handle, e.flags))
		e.shard, _ = w.Owner(e.handle)
		m.all = append(m.all, e)
	}
	var components []query.Component
	var all store.Set
	for id, c := range engine.Of(w).Survey().Components() {
		components = append(components, query.Component{Name: c.Name, Type: c.Type, Framed: true})
		all.Add(id)
	}
	m.schema = query.NewSchema(components)
	var err error
	m.frame, err = engine.Of(w).Freeze(&all)
	require.NoError(t, err)
	t.Cleanup(m.frame.Release)
	return m
}

// scan calls do with the rows that match.
func (m *model) scan(text string, do func(*query.Rows)) {
	q, err := query.Parse(text)
	require.NoError(m.t, err, text)
	f, err := m.schema.Compile(q)
	require.NoError(m.t, err, text)
	require.NoError(m.t, f.Scan(m.t.Context(), m.frame, m.w.Shards(), do))
}

// handlesOf returns the first rows by their ranking.
func handlesOf(r *query.Ranking) (all []handle.Handle) {
	for _, x := range r.Sorted() {
		all = append(all, x.Handle)
	}
	return all
}

// TestScan compares random queries of random worlds with a loop.
func TestScan(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 1))
		m := newModel(t, r)
		for range 150 {
			m.ask(r)
		}
	}
}

// compared reports whether a comparison holds. The values are of one type, or a field's and a
// float64.
func compared[T int64 | uint64 | float64 | string](a T, op string, b T) bool {
	same := a == b || a != a && b != b
	switch op {
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	case ">=":
		return a >= b
	case "==":
		return same
	}
	return !same
}

// ask asks a random query and counts by a loop.
func (m *model) ask(r *rand.Rand) {
	var terms []string
	tests := []func(e *entity) bool{}
	term := func(text string, f func(e *entity) bool) {
		terms, tests = append(terms, text), append(tests, f)
	}
	for range r.IntN(4) {
		op := []string{"<", "<=", ">", ">=", "==", "!="}[r.IntN(6)]
		literal := []string{"-1", "0", "1", "2", "0.5", "-0.5", "-1.5", "300", "-300", "1e3", "-1e30", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "NaN", "Inf"}[r.IntN(16)]
		number, _ := strconv.ParseFloat(literal, 64)
		field := func(path string, of func(p *pile) any) {
			term(fmt.Sprintf("pile.%s %s %s", path, op, literal), func(e *entity) bool {
				if e.pile == nil {
					return false
				}
				switch v := of(e.pile).(type) {
				case int64:
					if n, err := strconv.ParseInt(literal, 10, 64); err == nil {
						return compared(v, op, n)
					}
					return compared(float64(v), op, number)
				case uint64:
					if n, err := strconv.ParseUint(literal, 10, 64); err == nil {
						return compared(v, op, n)
					}
					return compared(float64(v), op, number)
				case float32:
					return compared(float64(v), op, float64(float32(number)))
				}
				return compared(of(e.pile).(float64), op, number)
			})
		}
		switch r.IntN(20) {
		case 0:
			field("A", func(p *pile) any { return int64(p.A) })
		case 1:
			field("B", func(p *pile) any { return uint64(p.B) })
		case 2:
			field("C", func(p *pile) any { return p.C })
		case 3:
			field("D", func(p *pile) any { return p.D })
		case 4:
			field("E", func(p *pile) any { return p.E })
		case 5:
			field("F", func(p *pile) any { return p.F })
		case 6:
			field("J.0", func(p *pile) any { return int64(p.J[0]) })
		case 7:
			is := r.IntN(2) == 0
			term(fmt.Sprintf("pile.G == %v", is), func(e *entity) bool { return e.pile != nil && e.pile.G == is })
		case 8:
			text := strings.Repeat("x", r.IntN(3))
			term(fmt.Sprintf("pile.H %s %q", op, text), func(e *entity) bool { return e.pile != nil && compared(e.pile.H, op, text) })
		case 9:
			of := handle.None
			if len(m.all) > 0 {
				of = m.all[0].handle
			}
			term(fmt.Sprintf("pile.I != %q", of), func(e *entity) bool { return e.pile != nil && e.pile.I != of })
		case 10:
			term("!dead", func(e *entity) bool { return !e.dead })
		case 11:
			term("`odd/score`", func(e *entity) bool { return e.score != nil })
		case 12:
			flag := r.IntN(3)
			term(fmt.Sprintf("Flag %d", flag), func(e *entity) bool { return e.flags>>flag&1 != 0 })
		case 13:
			flag := r.IntN(3)
			term(fmt.Sprintf("!Flag %d", flag), func(e *entity) bool { return e.flags>>flag&1 == 0 })
		case 14:
			shard := r.IntN(3)
			term(fmt.Sprintf("Shard %d", shard), func(e *entity) bool { return e.shard == shard })
		case 15:
			field("K", func(p *pile) any { return int64(p.K) })
		case 16:
			field("L", func(p *pile) any { return uint64(p.L) })
		case 17:
			field("M", func(p *pile) any { return int64(p.M) })
		case 18:
			field("N", func(p *pile) any { return uint64(p.N) })
		case 19:
			field("O", func(p *pile) any { return uint64(p.O) })
		}
	}
	count := 0
	var want []handle.Handle
	for _, e := range slices.SortedFunc(slices.Values(m.all), func(a, b entity) int { return a.handle.Compare(b.handle) }) {
		if slices.ContainsFunc(tests, func(holds func(*entity) bool) bool { return !holds(&e) }) {
			continue
		}
		if count++; count <= 5 {
			want = append(want, e.handle)
		}
	}
	text := strings.Join(terms, ", ")
	first := query.Ranking{Limit: 5}
	m.scan(text, first.Add)
	require.Equal(m.t, want, handlesOf(&first), text)
	require.Equal(m.t, count, first.Count, text)
	require.Equal(m.t, count > 5, first.More, text)
}
