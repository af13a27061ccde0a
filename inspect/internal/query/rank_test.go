package query_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/inspect/internal/query"
)

// TestRanking compares the order of random worlds, by fields of each kind, with a sort.
func TestRanking(t *testing.T) {
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
		"K":   func(a, b *pile) int { return cmp.Compare(a.K, b.K) },
		"J.0": func(a, b *pile) int { return cmp.Compare(a.J[0], b.J[0]) },
	}
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 2))
		m := newModel(t, r)
		for path, by := range orders {
			for down := range 2 {
				slices.SortFunc(m.all, func(a, b entity) int {
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
				var want []handle.Handle
				for i := range m.all[:min(limit, len(m.all))] {
					want = append(want, m.all[i].handle)
				}
				by, err := m.schema.Column("pile." + path)
				require.NoError(t, err)
				got := query.Ranking{By: &by, Down: down == 1, Limit: limit}
				m.scan("", got.Add)
				require.Equal(t, want, handlesOf(&got), "%s %d", path, down)
				require.Equal(t, len(m.all), got.Count)
				require.Equal(t, len(m.all) > limit, got.More)
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

// TestTotal compares what fields of each kind come to with a loop.
func TestTotal(t *testing.T) {
	m := newModel(t, rand.New(rand.NewPCG(5, 2)))
	of := map[string]func(p *pile) float64{
		"A": func(p *pile) float64 { return float64(p.A) }, "B": func(p *pile) float64 { return float64(p.B) },
		"C": func(p *pile) float64 { return float64(p.C) }, "D": func(p *pile) float64 { return float64(p.D) },
		"E": func(p *pile) float64 { return float64(p.E) }, "F": func(p *pile) float64 { return p.F },
		"J.0": func(p *pile) float64 { return float64(p.J[0]) }, "K": func(p *pile) float64 { return float64(p.K) },
		"L": func(p *pile) float64 { return float64(p.L) }, "M": func(p *pile) float64 { return float64(p.M) },
		"N": func(p *pile) float64 { return float64(p.N) }, "O": func(p *pile) float64 { return float64(p.O) },
	}
	for path, value := range of {
		c, err := m.schema.Number("pile." + path)
		require.NoError(t, err)
		got, want := query.Total{Column: c}, query.Total{Column: c}
		m.scan("Flag 0", got.Add)
		for _, e := range m.all {
			if e.flags&1 == 0 || e.pile == nil || math.IsNaN(value(e.pile)) {
				continue
			}
			v := value(e.pile)
			if want.Count++; want.Count == 1 {
				want.Least, want.Most = v, v
			}
			want.Sum, want.Least, want.Most = want.Sum+v, min(want.Least, v), max(want.Most, v)
		}
		if path == "C" || path == "D" {
			got.Sum, want.Sum = got.Sum/math.MaxUint32, want.Sum/math.MaxUint32 // as large numbers are added in another order
			require.InDelta(t, want.Sum, got.Sum, 1e6)
			got.Sum = want.Sum
		}
		require.Equal(t, want, got, path)
	}
	_, err := m.schema.Number("pile.H")
	require.EqualError(t, err, "pile.H is a string, want a number")
}
