package near_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/world"
)

// byHand is a grid as one writes it by hand: a list of entities for each cell, filled anew in each
// tick. Its queries order what they find as those of an Index do, so that ticks are deterministic.
type byHand struct {
	min, cell float64
	n         int
	cells     [][]near.Hit
}

func newByHand(least, most, cell float64) *byHand {
	n := int(math.Ceil((most - least) / cell))
	return &byHand{least, cell, n, make([][]near.Hit, n*n)}
}

func (g *byHand) at(v float64) int { return min(max(int((v-g.min)/g.cell), 0), g.n-1) }

func (g *byHand) fill(pos *world.Reader[Position], all *world.Query) {
	for i := range g.cells {
		g.cells[i] = g.cells[i][:0]
	}
	for ch := range all.Chunks() {
		for i, p := range pos.Slice(ch) {
			k := g.at(p.Y)*g.n + g.at(p.X)
			g.cells[k] = append(g.cells[k], near.Hit{Handle: ch.Handle(i), At: near.Point(p)})
		}
	}
}

func (g *byHand) within(dst []near.Hit, c near.Point, radius float64) []near.Hit {
	x0, x1, y0, y1 := g.at(c.X-radius), g.at(c.X+radius), g.at(c.Y-radius), g.at(c.Y+radius)
	for y := y0; y <= y1; y++ {
		for x := x0; x <= x1; x++ {
			for _, h := range g.cells[y*g.n+x] {
				dx, dy := h.At.X-c.X, h.At.Y-c.Y
				if d := dx*dx + dy*dy; d <= radius*radius {
					h.Distance2 = d
					dst = append(dst, h)
				}
			}
		}
	}
	return dst
}

// nearest widens a square of cells until it has found enough, and keeps what it has found in order.
func (g *byHand) nearest(dst []near.Hit, c near.Point, k int) []near.Hit {
	cx, cy := g.at(c.X), g.at(c.Y)
	for reach := 0; reach < g.n; reach++ {
		for y := max(cy-reach, 0); y <= min(cy+reach, g.n-1); y++ {
			for x := max(cx-reach, 0); x <= min(cx+reach, g.n-1); x++ {
				if reach > 0 && y > cy-reach && y < cy+reach && x > cx-reach && x < cx+reach {
					continue
				}
				for i := range g.cells[y*g.n+x] {
					h := &g.cells[y*g.n+x][i]
					dx, dy := h.At.X-c.X, h.At.Y-c.Y
					d := dx*dx + dy*dy
					if len(dst) == k && d >= dst[k-1].Distance2 {
						continue
					}
					if len(dst) < k {
						dst = append(dst, near.Hit{})
					}
					at := len(dst) - 1
					for ; at > 0 && dst[at-1].Distance2 > d; at-- {
						dst[at] = dst[at-1]
					}
					dst[at] = near.Hit{Handle: h.Handle, At: h.At, Distance2: d}
				}
			}
		}
		if edge := float64(reach) * g.cell; len(dst) == k && dst[k-1].Distance2 <= edge*edge {
			break
		}
	}
	return dst
}

// crowd is a world of n entities, about per of them in each cell, of which so many are in one
// place.
type crowd struct {
	*game
	hand   *byHand
	points []near.Point // where queries are made: at entities
	side   float64
}

func newCrowd(b *testing.B, n int, per float64, crowded int, workers int) *crowd {
	side := math.Sqrt(float64(n)/per) * 10
	o := near.Options{Max: near.Point{X: side, Y: side}, Cell: 10}
	c := &crowd{game: newGame(b, world.Options{Shards: 8}, workers, o, nil), hand: newByHand(0, side, 10), side: side}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		p := Position{r.Float64() * side, r.Float64() * side, 0}
		if i < crowded {
			p = Position{500 + r.Float64()*10, 500 + r.Float64()*10, 0}
		}
		_, err := c.trees.Create(c.World, Tree{Position: p})
		require.NoError(b, err)
		if i%(1+n/4096) == 0 {
			c.points = append(c.points, near.Point(p))
		}
	}
	r.Shuffle(len(c.points), func(i, k int) { c.points[i], c.points[k] = c.points[k], c.points[i] })
	c.step()
	pos := world.Read[Position](c.World)
	c.hand.fill(pos, c.Query(pos))
	return c
}

func BenchmarkNearest(b *testing.B) {
	for _, x := range []struct {
		name    string
		crowded int
	}{{"even", 0}, {"crowd", 5000}} {
		c := newCrowd(b, 100_000, 4, x.crowded, 1)
		read, hits := c.index.Read(c.World), make([]near.Hit, 0, 64)
		b.Run(x.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				hits = read.AppendNearest(hits[:0], c.points[i%len(c.points)], 8, math.Inf(1))
			}
		})
		b.Run(x.name+"-by-hand", func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				hits = c.hand.nearest(hits[:0], c.points[i%len(c.points)], 8)
			}
		})
	}
}

func BenchmarkWithin(b *testing.B) {
	for _, x := range []struct {
		name string
		per  float64
	}{{"a-dozen", 4}, {"fifty", 16}} {
		c := newCrowd(b, 100_000, x.per, 0, 1)
		read, hits := c.index.Read(c.World), make([]near.Hit, 0, 256)
		found := 0
		b.Run(x.name, func(b *testing.B) {
			found = 0
			for i := 0; b.Loop(); i++ {
				hits = read.AppendWithin(hits[:0], c.points[i%len(c.points)], 10)
				found += len(hits)
			}
			b.ReportMetric(float64(found)/float64(b.N), "hits/op")
		})
		b.Run(x.name+"-by-hand", func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				hits = c.hand.within(hits[:0], c.points[i%len(c.points)], 10)
			}
		})
	}
}

// BenchmarkMove makes ticks in which 100,000 entities move, and nothing else happens.
func BenchmarkMove(b *testing.B) { move(b, 100_000, 100_000, 1) }

// BenchmarkMoveSome is BenchmarkMove for 10,000 that move, of a million.
func BenchmarkMoveSome(b *testing.B) { move(b, 1_000_000, 10_000, 1) }

func move(b *testing.B, n, moving int, workers int) {
	c := newCrowd(b, n-moving+1, 4*float64(n-moving+1)/float64(n), 0, workers)
	r := rand.New(rand.NewPCG(3, 4))
	for range moving {
		_, err := c.units.Create(c.World, Unit{Position{r.Float64() * c.side, r.Float64() * c.side, 0}})
		require.NoError(b, err)
	}
	pos := world.Write[Position](c.World)
	units := c.Query(pos, world.Without[Still](c.World))
	step := func() {
		for ch := range units.Chunks() {
			for i := range pos.Slice(ch) {
				p := &pos.Slice(ch)[i]
				p.X = math.Mod(p.X+1, c.side)
			}
		}
	}
	c.step()
	b.Run("index", func(b *testing.B) {
		b.ReportAllocs()
		update := time.Duration(0)
		for b.Loop() {
			step()
			at := time.Now()
			c.index.Read(c.World)
			update += time.Since(at)
		}
		b.ReportMetric(float64(update.Microseconds())/float64(b.N), "µs/update")
	})
	all := c.Query(pos)
	b.Run("by-hand", func(b *testing.B) {
		update := time.Duration(0)
		for b.Loop() {
			step()
			at := time.Now()
			c.hand.fill(&pos.Reader, all)
			update += time.Since(at)
		}
		b.ReportMetric(float64(update.Microseconds())/float64(b.N), "µs/update")
	})
}
