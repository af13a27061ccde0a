package region

import (
	"math"

	"github.com/atoll-sim/atoll/world"
)

// Grid divides an area into regions, one for each shard. P is the
// component that holds an entity's position.
//
//	y ▲  ┌─────┬─────┬─────┐
//	     │  3  │  4  │  5  │   3 columns, 2 rows: shards 0 to 5
//	     ├─────┼─────┼─────┤
//	     │  0  │  1  │  2  │   what is outside belongs to the nearest region
//	     └─────┴─────┴─────┘ ▶ x
//
// Ownership: never changed once made, so it is safe for concurrent use.
type Grid[P any] struct {
	w     *world.World
	at    func(P) (x, y float64)
	o     Options
	home  []bounds // by shard: where its entities stay
	sides struct{ x, y float64 }
}

// bounds are those of a region with its margin, open at the edges of the area.
type bounds struct{ left, right, bottom, top float64 }

// New makes a grid for a world. at returns the coordinates of a position; it must
// depend on its argument alone and be safe for concurrent use. The error of New
// names every option that is wrong.
func New[P any](w *world.World, at func(P) (x, y float64), o Options) (*Grid[P], error) {
	if w == nil || at == nil {
		panic("region: New needs a world and a function that tells the coordinates of a position")
	}
	o, err := o.validate(w.Shards())
	if err != nil {
		return nil, err
	}
	g := &Grid[P]{w: w, at: at, o: o, home: make([]bounds, w.Shards())}
	g.sides.x, g.sides.y = o.Width/float64(o.Columns), o.Height/float64(o.Rows)
	for i := range g.home {
		g.home[i] = g.bounds(i)
	}
	return g, nil
}

// bounds returns where a shard's entities stay.
func (g *Grid[P]) bounds(shard int) bounds {
	if shard >= g.Regions() {
		return bounds{left: math.Inf(1)} // no entity stays
	}
	column, row := shard%g.o.Columns, shard/g.o.Columns
	from := func(least, side float64, at int) float64 {
		if at == 0 {
			return math.Inf(-1)
		}
		return least + float64(side*float64(at)) - g.o.Margin // rounded alike on all machines
	}
	to := func(least, side float64, at, n int) float64 {
		if at == n-1 {
			return math.Inf(1)
		}
		return least + float64(side*float64(at+1)) + g.o.Margin
	}
	return bounds{
		left: from(g.o.X, g.sides.x, column), right: to(g.o.X, g.sides.x, column, g.o.Columns),
		bottom: from(g.o.Y, g.sides.y, row), top: to(g.o.Y, g.sides.y, row, g.o.Rows),
	}
}

// Options returns the options with the defaults filled in.
func (g *Grid[P]) Options() Options { return g.o }

// Regions returns the number of regions. Region i is shard i.
func (g *Grid[P]) Regions() int { return g.o.Columns * g.o.Rows }

// Corner returns the least coordinates of a shard's region, and Side its size.
func (g *Grid[P]) Corner(shard int) (x, y float64) {
	return g.o.X + float64(g.sides.x*float64(shard%g.o.Columns)), g.o.Y + float64(g.sides.y*float64(shard/g.o.Columns))
}

// Side returns the size of a region.
func (g *Grid[P]) Side() (x, y float64) { return g.sides.x, g.sides.y }

// Shard returns the shard whose region a position is in. Use it to place
// bundles:
//
//	trees.PlaceBy(func(t Tree) int { return grid.Shard(t.Position) })
//
// A coordinate that is not a number counts as the least one. Safe from any
// goroutine; it costs a few nanoseconds.
func (g *Grid[P]) Shard(p P) int {
	x, y := g.at(p)
	return g.shard(x, y)
}

func (g *Grid[P]) shard(x, y float64) int {
	return step((y-g.o.Y)/g.sides.y, g.o.Rows)*g.o.Columns + step((x-g.o.X)/g.sides.x, g.o.Columns)
}

// step returns the whole number of steps in f, 0 to n-1.
func step(f float64, n int) int {
	switch {
	case !(f >= 1): // also if f is not a number
		return 0
	case f >= float64(n):
		return n - 1
	}
	return int(f)
}

// AppendNeighbours appends the shards of the up to eight regions around that of a
// shard, in ascending order: for world.ReadForeign.
func (g *Grid[P]) AppendNeighbours(dst []int, shard int) []int {
	if shard >= g.Regions() {
		return dst
	}
	column, row := shard%g.o.Columns, shard/g.o.Columns
	for r := max(row-1, 0); r <= min(row+1, g.o.Rows-1); r++ {
		for c := max(column-1, 0); c <= min(column+1, g.o.Columns-1); c++ {
			if near := r*g.o.Columns + c; near != shard {
				dst = append(dst, near)
			}
		}
	}
	return dst
}
