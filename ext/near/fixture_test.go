package near_test

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// The components and bundles of the tests.
type (
	Position struct{ X, Y, Z float64 }
	Still    struct{}
	Out      struct{}
	Tree     struct {
		Position
		Still
	}
	Unit struct{ Position }
)

func (p Position) point() near.Point { return near.Point(p) }

// game is a world whose systems call what a test sets.
type game struct {
	*world.World
	t     testing.TB
	s     *scheduler.Scheduler
	units *world.Bundle[Unit]
	trees *world.Bundle[Tree]
	out   *world.Component[Out]
	index *near.Index

	systems func(c *world.Context, r *near.Reader, pos *world.Writer[Position], all *world.Query)
}

// space is the one that tests use, and is smaller than where entities are.
var space = near.Options{Min: near.Point{X: -100, Y: -50}, Max: near.Point{X: 100, Y: 50}, Cell: 10}

func newGame(t testing.TB, wo world.Options, workers int, o near.Options, terms func(w *world.World) []world.Term) *game {
	w := world.MustNew(wo)
	world.Register[Position](w, "position")
	world.Register[Still](w, "still")
	g := &game{World: w, t: t, out: world.Register[Out](w, "out")}
	g.units, g.trees = world.NewBundle[Unit](w), world.NewBundle[Tree](w)
	var all []world.Term
	if terms != nil {
		all = terms(w)
	}
	g.index = near.New(w, Position.point, o, all...)
	g.s = scheduler.New(w, scheduler.Options{Workers: workers})
	g.s.MustAdd("systems", func(b *world.Build) func(*world.Context) {
		r, pos := g.index.Read(b), world.Write[Position](b)
		query := b.Query(pos)
		return func(c *world.Context) {
			if g.systems != nil {
				g.systems(c, r, pos, query)
			}
		}
	})
	t.Cleanup(w.Close)
	return g
}

func (g *game) step() {
	g.t.Helper()
	require.NoError(g.t, g.s.Step(context.Background()))
}

func (g *game) unit(x, y, z float64) handle.Handle {
	h, err := g.units.Create(g.World, Unit{Position{x, y, z}})
	require.NoError(g.t, err)
	return h
}

// handles returns the handles of hits.
func handles(hits []near.Hit) (all []handle.Handle) {
	for _, x := range hits {
		all = append(all, x.Handle)
	}
	return all
}

// place returns a place at random; some are on the borders of cells, at one place, or outside.
func place(r *rand.Rand) Position {
	switch r.IntN(8) {
	case 0:
		return Position{float64(r.IntN(24)-12) * 10, float64(r.IntN(14)-7) * 10, float64(r.IntN(3)) * 10}
	case 1:
		return Position{33, 33, 3}
	case 2:
		return Position{r.Float64()*1000 - 500, r.Float64()*1000 - 500, r.Float64()*100 - 50}
	}
	return Position{r.Float64()*200 - 100, r.Float64()*100 - 50, r.Float64() * 20}
}

// naive is what is where, by a look at each entity.
type naive []near.Hit

// naively looks at all entities of a query, each of which has a position.
func naively(pos *world.Reader[Position], all *world.Query) (n naive) {
	for ch := range all.Chunks() {
		for i, p := range pos.Slice(ch) {
			n = append(n, near.Hit{Handle: ch.Handle(i), At: near.Point(p)})
		}
	}
	return n
}

func square(p, q near.Point) float64 {
	x, y, z := p.X-q.X, p.Y-q.Y, p.Z-q.Z
	return float64(x*x) + float64(y*y) + float64(z*z)
}

// within finds what AppendWithin does.
func (n naive) within(x *near.Index, c near.Point, radius float64) (hits []near.Hit) {
	for _, h := range n {
		if h.Distance2 = square(h.At, c); h.Distance2 <= radius*radius {
			hits = append(hits, h)
		}
	}
	return byCell(x, hits)
}

// box finds what AppendBox does.
func (n naive) box(x *near.Index, from, to near.Point) (hits []near.Hit) {
	in := func(v, from, to float64) bool { return v >= from && v <= to }
	for _, h := range n {
		if in(h.At.X, from.X, to.X) && in(h.At.Y, from.Y, to.Y) && in(h.At.Z, from.Z, to.Z) {
			hits = append(hits, h)
		}
	}
	return byCell(x, hits)
}

// along finds what AppendAlong does. Those that are nearly as far as radius away it returns as
// well.
func (n naive) along(from, to near.Point, radius float64) (hits, maybe []near.Hit) {
	d := near.Point{X: to.X - from.X, Y: to.Y - from.Y, Z: to.Z - from.Z}
	for _, h := range n {
		t := 0.0
		if l := square(from, to); l > 0 {
			t = ((h.At.X-from.X)*d.X + (h.At.Y-from.Y)*d.Y + (h.At.Z-from.Z)*d.Z) / l
		}
		t = min(max(t, 0), 1)
		off := square(h.At, near.Point{X: from.X + t*d.X, Y: from.Y + t*d.Y, Z: from.Z + t*d.Z})
		h.Distance2 = square(h.At, from)
		switch most := radius * radius; {
		case off > most-1e-9 && off < most+1e-9:
			maybe = append(maybe, h)
		case off <= most:
			hits = append(hits, h)
		}
	}
	return byDistance(hits), maybe
}

// nearest finds what AppendNearest does.
func (n naive) nearest(c near.Point, k int, most float64) (hits []near.Hit) {
	for _, h := range n {
		if h.Distance2 = square(h.At, c); h.Distance2 <= most*most {
			hits = append(hits, h)
		}
	}
	hits = byDistance(hits)
	return hits[:min(k, len(hits))]
}

func byCell(x *near.Index, hits []near.Hit) []near.Hit {
	slices.SortFunc(hits, func(a, b near.Hit) int {
		if d := x.Cell(a.At) - x.Cell(b.At); d != 0 {
			return d
		}
		return cmp.Compare(a.Handle, b.Handle)
	})
	return hits
}

func byDistance(hits []near.Hit) []near.Hit {
	slices.SortFunc(hits, func(a, b near.Hit) int {
		return cmp.Or(cmp.Compare(a.Distance2, b.Distance2), cmp.Compare(a.Handle, b.Handle))
	})
	return hits
}

// same checks some queries at random against a look at all entities.
func (n naive) same(t testing.TB, x *near.Index, read *near.Reader, r *rand.Rand, queries int) {
	t.Helper()
	for range queries {
		c, to, radius, k := near.Point(place(r)), near.Point(place(r)), float64(r.IntN(60)), r.IntN(30)
		require.Equal(t, n.within(x, c, radius), none(read.AppendWithin(nil, c, radius)), "within %v of %v", radius, c)
		require.Equal(t, n.box(x, c, to), none(read.AppendBox(nil, c, to)), "from %v to %v", c, to)
		most := float64(1000)
		if k%3 == 0 {
			most = radius
		}
		require.Equal(t, none(n.nearest(c, k, most)), none(read.AppendNearest(nil, c, k, most)), "%d of %v, %v away", k, c, most)
		hits, maybe := n.along(c, to, radius/4)
		got := slices.DeleteFunc(read.AppendAlong(nil, c, to, radius/4), func(h near.Hit) bool { return slices.Contains(maybe, h) })
		require.Equal(t, none(hits), none(got), "along %v to %v, %v", c, to, radius/4)
	}
}

// none makes nothing nil.
func none(hits []near.Hit) []near.Hit {
	if len(hits) == 0 {
		return nil
	}
	return hits
}

// iterations is n, or less where that takes long.
func iterations(n int) int {
	switch {
	case testing.Short():
		return max(1, n/20)
	case check.Enabled:
		return max(1, n/5)
	}
	return n
}

// newRand returns random numbers that are the same for the same seed, and says which seed in case
// the test fails.
func newRand(t testing.TB, seed uint64) *rand.Rand {
	t.Helper()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}
