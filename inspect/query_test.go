package inspect_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/inspect"
	"github.com/atoll-sim/atoll/world"
)

func queryOf(q string, more ...string) string {
	return "/api/query?q=" + url.QueryEscape(q) + strings.Join(more, "")
}

// TestQuery asks for entities, and looks at what rows show.
func TestQuery(t *testing.T) {
	f := newFixture(t)
	for q, want := range map[string]int{
		"":                                 115,
		"Position":                         110,
		"Position, !Owner":                 100,
		"Dead":                             5,
		"Dead, !Dead":                      0,
		"Health.HP < 20":                   20,
		"Health.HP <= 20":                  21,
		"Health.HP < 19.5":                 20,
		"Health.HP >= 19.5":                80,
		"Health.HP == 19.5":                0,
		"Health.HP != 19.5":                100,
		"Health.HP > 1e300":                0,
		"Health.Most < 300":                100,
		"Health.Most > -1":                 100,
		"Health.Most == -1":                0,
		"Health.HP < NaN":                  0,
		"Health.HP < +Inf":                 100,
		"Position.X == NaN":                10,
		"Position.X != NaN":                100,
		"Position.Y == Inf":                10,
		`Label.Text == "orc"`:              34,
		`Label.Text < "orc"`:               33,
		`Label.Text == "\xff"`:             33,
		"Owner.Alive == true":              5,
		"Owner.Alive != true":              5,
		"Owner.inner == 7":                 10,
		"Owner.Big > 1e18":                 10,
		"`odd/Score` >= 3":                 2,
		"Bag":                              10,
		"Shard 0, Shard 1":                 0,
		"Flag 3":                           0,
		"!Flag 3":                          115,
		`Owner.Of == "none"`:               0,
		"Owner.Big == 1152921504606846976": 1,
	} {
		require.EqualValues(t, want, f.get(200, queryOf(q))["count"], q)
	}
	for q, at := range map[string]int{
		"Health.HP < x": 13, `Health.HP < "3"`: 13, "Label.Text == 3": 15, "Owner.Alive < true": 15, "Owner.Alive == 1": 16,
		`Owner.Of < "none"`: 12, `Owner.Of == "x"`: 13, "Position, Nothing": 11, "Position.Z == 1": 1, "Position == 1": 1,
		"Position.X": 1, "Bag.Items == 1": 1, "Bag == 1": 1, "!Shard 1": 1, "Health.HP < 0x10": 13,
	} {
		require.EqualValues(t, at, f.get(400, queryOf(q))["at"], q)
	}
	require.Equal(t, `there is no component "health.HP"; "Health" is one, and case matters`, f.get(400, queryOf("health.HP < 3"))["error"])
	require.Equal(t, `there is no component "Healthy"; there are: Position, Velocity, Health, Label, Owner, Bag, Dead, odd/Score`,
		f.get(400, queryOf("Healthy"))["error"])
	rows := f.get(200, queryOf("Owner.Big == 1152921504606846977", "&show=Position,Owner,Bag,Dead"))["rows"].([]any)
	require.Len(t, rows, 1)
	row := rows[0].(map[string]any)
	h, err := handle.Parse(row["handle"].(string))
	require.NoError(t, err)
	require.True(t, f.w.Alive(h))
	require.Equal(t, []any{}, row["flags"])
	shown := row["components"].(map[string]any)
	require.Len(t, shown, 3)
	require.Equal(t, map[string]any{"X": "NaN", "Y": "+Inf"}, shown["Position"])
	require.Equal(t, "1152921504606846977", shown["Owner"].(map[string]any)["Big"])
	require.Contains(t, shown["Bag"], "is a map")
	f.get(400, queryOf("", "&show="+strings.Repeat("Position,", 3)+"Nothing"))
}

// TestQueryPages goes through all that match, page by page.
func TestQueryPages(t *testing.T) {
	f := newFixture(t)
	var all []handle.Handle
	after := ""
	for pages := 1; ; pages++ {
		got := f.get(200, queryOf("Position", "&limit=7&after="+after))
		require.EqualValues(t, 110, got["count"])
		for _, row := range got["rows"].([]any) {
			h, err := handle.Parse(row.(map[string]any)["handle"].(string))
			require.NoError(t, err)
			all = append(all, h)
		}
		if after = got["next"].(string); after == "" {
			require.Equal(t, 16, pages)
			break
		}
	}
	require.Len(t, all, 110)
	require.True(t, slices.IsSorted(all))
	require.Len(t, slices.Compact(all), 110)
}

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
}

// TestQueryModel compares random queries of random worlds with a loop.
func TestQueryModel(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 1))
		f := newModel(t, r)
		for range 150 {
			f.ask(t, r)
		}
	}
}

type modelEntity struct {
	handle handle.Handle
	shard  int
	flags  world.Flags
	pile   *pile
	number *Score
	tag    bool
}

type model struct {
	*fixture
	all []modelEntity
}

func newModel(t *testing.T, r *rand.Rand) *model {
	f := newWorld(t, 1+r.IntN(4), 2)
	world.Register[pile](f.w, "pile")
	numbers := f.ghosts
	type one struct{ pile }
	type both struct {
		pile
		Score
	}
	type all struct {
		pile
		Score
		Dead
	}
	ones, boths, alls := world.NewBundle[one](f.w), world.NewBundle[both](f.w), world.NewBundle[all](f.w)
	m := &model{fixture: f}
	few := func() int { return r.IntN(7) - 3 }
	for range r.IntN(3000) {
		p := pile{int8(few()), uint16(r.IntN(4)), int64(few()), uint64(r.IntN(4)), float32(few()) / 2, float64(few()) / 2, r.IntN(2) == 0, strings.Repeat("x", r.IntN(3)), handle.None, [3]int16{int16(few())}}
		switch r.IntN(20) {
		case 0:
			p.C, p.D, p.F, p.E = math.MinInt64, math.MaxUint64, math.NaN(), float32(math.Inf(-1))
		case 1:
			p.C, p.A, p.B = math.MaxInt64, math.MinInt8, math.MaxUint16
		}
		if n := len(m.all); n > 0 && r.IntN(2) == 0 {
			p.I = m.all[r.IntN(min(n, 3))].handle
		}
		e := modelEntity{}
		s := Score(few())
		var err error
		switch r.IntN(4) {
		case 0:
			e.handle, err = ones.Create(f.w, one{p})
			e.pile = &p
		case 1:
			e.handle, err = boths.Create(f.w, both{p, s})
			e.pile, e.number = &p, &s
		case 2:
			e.handle, err = alls.Create(f.w, all{p, s, Dead{}})
			e.pile, e.number, e.tag = &p, &s, true
		case 3:
			e.handle, err = numbers.Create(f.w, Ghost{Score: s})
			e.number, e.tag = &s, true
		}
		require.NoError(t, err)
		e.flags = world.Flags(r.IntN(4))
		require.NoError(t, world.Flag(f.w, e.handle, e.flags))
		e.shard, _ = f.w.Owner(e.handle)
		m.all = append(m.all, e)
	}
	f.inspect(inspect.Options{}).run()
	return m
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
func (m *model) ask(t *testing.T, r *rand.Rand) {
	var terms []string
	tests := []func(e *modelEntity) bool{}
	term := func(text string, f func(e *modelEntity) bool) {
		terms, tests = append(terms, text), append(tests, f)
	}
	for range r.IntN(4) {
		op := []string{"<", "<=", ">", ">=", "==", "!="}[r.IntN(6)]
		literal := []string{"-1", "0", "1", "2", "0.5", "-0.5", "-1.5", "300", "-300", "1e3", "-1e30", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "NaN", "Inf"}[r.IntN(16)]
		number, _ := strconv.ParseFloat(literal, 64)
		field := func(path string, of func(p *pile) any) {
			term(fmt.Sprintf("pile.%s %s %s", path, op, literal), func(e *modelEntity) bool {
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
		switch r.IntN(15) {
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
			term(fmt.Sprintf("pile.G == %v", is), func(e *modelEntity) bool { return e.pile != nil && e.pile.G == is })
		case 8:
			text := strings.Repeat("x", r.IntN(3))
			term(fmt.Sprintf("pile.H %s %q", op, text), func(e *modelEntity) bool { return e.pile != nil && compared(e.pile.H, op, text) })
		case 9:
			of := handle.None
			if len(m.all) > 0 {
				of = m.all[0].handle
			}
			term(fmt.Sprintf("pile.I != %q", of), func(e *modelEntity) bool { return e.pile != nil && e.pile.I != of })
		case 10:
			term("!Dead", func(e *modelEntity) bool { return !e.tag })
		case 11:
			term("`odd/Score`", func(e *modelEntity) bool { return e.number != nil })
		case 12:
			flag := r.IntN(3)
			term(fmt.Sprintf("Flag %d", flag), func(e *modelEntity) bool { return e.flags>>flag&1 != 0 })
		case 13:
			flag := r.IntN(3)
			term(fmt.Sprintf("!Flag %d", flag), func(e *modelEntity) bool { return e.flags>>flag&1 == 0 })
		case 14:
			shard := r.IntN(3)
			term(fmt.Sprintf("Shard %d", shard), func(e *modelEntity) bool { return e.shard == shard })
		}
	}
	want := 0
	var first []string
	all := slices.SortedFunc(slices.Values(m.all), func(a, b modelEntity) int { return a.handle.Compare(b.handle) })
	for i := range all {
		holds := true
		for _, f := range tests {
			holds = holds && f(&all[i])
		}
		if holds {
			if want++; want <= 5 {
				first = append(first, all[i].handle.String())
			}
		}
	}
	q := strings.Join(terms, ", ")
	got := m.get(http.StatusOK, queryOf(q, "&limit=5"))
	require.EqualValues(t, want, got["count"], q)
	var rows []string
	for _, row := range got["rows"].([]any) {
		rows = append(rows, row.(map[string]any)["handle"].(string))
	}
	require.Equal(t, first, rows, q)
}
