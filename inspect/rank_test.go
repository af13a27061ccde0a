package inspect_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/world"
)

// handlesOf returns those of the rows of an answer.
func handlesOf(got map[string]any) (all []string) {
	for _, row := range got["rows"].([]any) {
		all = append(all, row.(map[string]any)["handle"].(string))
	}
	return all
}

// TestQueryOrder compares the order of random worlds, by fields of each kind, with a sort.
func TestQueryOrder(t *testing.T) {
	float := func(a, b float64) int {
		if an, bn := a != a, b != b; an || bn { // NaN comes last
			return cmp.Compare(bit(an), bit(bn))
		}
		return cmp.Compare(a, b)
	}
	orders := map[string]func(a, b *pile) int{
		"A":   func(a, b *pile) int { return cmp.Compare(a.A, b.A) },
		"B":   func(a, b *pile) int { return cmp.Compare(a.B, b.B) },
		"C":   func(a, b *pile) int { return cmp.Compare(a.C, b.C) },
		"D":   func(a, b *pile) int { return cmp.Compare(a.D, b.D) },
		"E":   func(a, b *pile) int { return float(float64(a.E), float64(b.E)) },
		"F":   func(a, b *pile) int { return float(a.F, b.F) },
		"G":   func(a, b *pile) int { return cmp.Compare(bit(a.G), bit(b.G)) },
		"H":   func(a, b *pile) int { return cmp.Compare(a.H, b.H) },
		"I":   func(a, b *pile) int { return a.I.Compare(b.I) },
		"J.0": func(a, b *pile) int { return cmp.Compare(a.J[0], b.J[0]) },
	}
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 2))
		m := newModel(t, r)
		for path, by := range orders {
			for down := range 2 {
				slices.SortFunc(m.all, func(a, b modelEntity) int {
					c := 0
					switch {
					case a.pile == nil || b.pile == nil:
						if c = cmp.Compare(bit(a.pile == nil), bit(b.pile == nil)); down == 1 {
							c = -c
						}
					default:
						c = by(a.pile, b.pile)
					}
					if down == 1 {
						c = -c
					}
					return cmp.Or(c, a.handle.Compare(b.handle))
				})
				limit := 1 + r.IntN(1000)
				var want []string
				for i := range m.all[:min(limit, len(m.all))] {
					want = append(want, m.all[i].handle.String())
				}
				got := m.get(200, queryOf("", fmt.Sprintf("&order=pile.%s&down=%d&limit=%d", path, down, limit)))
				require.Equal(t, want, handlesOf(got), "%s %d", path, down)
				require.EqualValues(t, len(m.all), got["count"])
				require.Equal(t, len(m.all) > limit, got["more"])
				require.Empty(t, got["next"])
			}
		}
	}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestQueryTotals compares what fields come to with a loop.
func TestQueryTotals(t *testing.T) {
	m := newModel(t, rand.New(rand.NewPCG(5, 2)))
	type sums struct {
		count            int
		sum, least, most float64
	}
	var of [2]sums
	add := func(s *sums, v float64) {
		if v != v {
			return
		}
		if s.count++; s.count == 1 {
			s.least, s.most = v, v
		}
		s.sum, s.least, s.most = s.sum+v, min(s.least, v), max(s.most, v)
	}
	for _, e := range m.all {
		if e.flags&1 == 0 {
			continue
		}
		if e.pile != nil {
			add(&of[0], float64(e.pile.A))
		}
		if e.number != nil {
			add(&of[1], float64(*e.number))
		}
	}
	got := m.get(200, queryOf("Flag 0", "&limit=1&total="+url.QueryEscape("pile.A, `odd/Score`")))["totals"].([]any)
	for i, name := range []string{"pile.A", "`odd/Score`"} {
		want := map[string]any{"field": name, "count": float64(of[i].count), "sum": of[i].sum, "min": of[i].least, "max": of[i].most}
		require.Equal(t, want, got[i])
	}
	f := newFixture(t)
	totals := f.get(200, queryOf("Position", "&total=Position.X,Position.Y"))["totals"]
	require.JSONEq(t, `[{"field":"Position.X","count":100,"sum":4950,"min":0,"max":99},
		{"field":"Position.Y","count":110,"sum":"+Inf","min":-99,"max":"+Inf"}]`, jsonOf(totals), "NaN is no value")
	require.Equal(t, []any{map[string]any{"field": "Velocity.X", "count": 0.0}}, f.get(200, queryOf("Dead", "&total=Velocity.X"))["totals"])
	require.Empty(t, f.get(200, queryOf(""))["totals"])
}

// TestQueryOrderRefused asks for orders and totals that there are not.
func TestQueryOrderRefused(t *testing.T) {
	f := newFixture(t)
	for more, says := range map[string]string{
		"&order=Nothing":                      `order: there is no component "Nothing"`,
		"&order=Position":                     "order: Position is a inspect_test.Position, want one of its fields",
		"&order=Position.Z":                   "order: Position has no field Z",
		"&order=Bag.Items":                    "order: fields of Bag cannot be asked for",
		"&order=Position.X&after=0:3@1":       "after goes on in the order of handles",
		"&down=1":                             "down is of order",
		"&order=Position.X&down=2":            "down is",
		"&total=Position.X,":                  "total: there is no component",
		"&total=Label.Text":                   "total: Label.Text is a string, want a number",
		"&total=Owner.Of":                     "want a number",
		"&total=Bag.Items":                    "total: fields of Bag cannot be asked for",
		"&total=" + repeated("Health.HP", 17): "total has 17 fields, want 16 or fewer",
	} {
		require.Contains(t, f.get(400, queryOf("", more))["error"], says, more)
	}
}

func repeated(name string, n int) (all string) {
	for i := range n {
		if i > 0 {
			all += ","
		}
		all += name
	}
	return all
}

// TestQueryNames shows the names of the world beside what has them.
func TestQueryNames(t *testing.T) {
	f := newFixture(t)
	row := func(q string) map[string]any { return f.get(200, queryOf(q))["rows"].([]any)[0].(map[string]any) }
	require.Equal(t, []any{map[string]any{"label": "names", "name": "anna"}}, row("Health.HP == 0")["names"])
	require.Equal(t, []any{}, row("Health.HP == 1")["names"])
	require.NoError(t, <-f.s.Between(func(w *world.World) { // another one, of a world that is looked at already
		ids := names.New[uint64](w, "ids", names.Options{})
		h, ok := f.names.Lookup("anna")
		require.True(t, ok)
		require.NoError(t, ids.Bind(w, h, 77))
	}))
	require.Eventually(t, func() bool { return len(row("Health.HP == 0")["names"].([]any)) == 2 }, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, map[string]any{"label": "ids", "name": "77"}, row("Health.HP == 0")["names"].([]any)[1])
}
