package region

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/world"
)

// DefaultLimit is the default of Options.Limit.
const DefaultLimit = 4096

// defaultMargin is the default of Options.Margin, in shorter sides of a region.
const defaultMargin = 1.0 / 16

// Options shape a Grid. The zero value of a field means its default; Width and
// Height have none. Lengths are in the units of the positions.
type Options struct {
	// X and Y are the least coordinates of the area that is divided, Width and
	// Height its size. What is outside of it belongs to the nearest region.
	X, Y, Width, Height float64
	// Columns and Rows are how many regions there are each way, Columns·Rows no
	// more than the world has shards. Region number row·Columns + column is the
	// shard of that number; shards beyond are left empty. Default, of both: as many
	// as there are shards, Rows being the largest number of rows that divides that
	// and does not exceed Columns.
	Columns, Rows int
	// Margin is how far beyond the border an entity must be before it is moved, so that one that
	// walks along the border is not moved in every tick. Default: a sixteenth of the shorter side
	// of a region.
	Margin float64
	// Limit is how many entities leave a shard in one tick at most; the others
	// follow in the next ticks. Default: DefaultLimit.
	Limit int
}

// validate fills in the defaults and names every limit that is broken.
func (o Options) validate(shards int) (Options, error) {
	var errs []error
	must := func(ok bool, format string, values ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("region: "+format, values...))
		}
	}
	must(finite(o.X), "X is %v, want a finite number", o.X)
	must(finite(o.Y), "Y is %v, want a finite number", o.Y)
	must(finite(o.Width) && o.Width > 0, "Width is %v, want more than 0", o.Width)
	must(finite(o.Height) && o.Height > 0, "Height is %v, want more than 0", o.Height)
	must(!finite(o.X) || !finite(o.Width) || finite(o.X+o.Width), "X and Width are %v and %v, want a finite sum", o.X, o.Width)
	must(!finite(o.Y) || !finite(o.Height) || finite(o.Y+o.Height), "Y and Height are %v and %v, want a finite sum", o.Y, o.Height)
	if o.Columns == 0 && o.Rows == 0 {
		o.Columns, o.Rows = Divide(shards)
	}
	must(o.Columns > 0 && o.Rows > 0 && o.Columns <= shards && o.Rows <= shards/max(o.Columns, 1),
		"there are %d columns and %d rows, want 1 or more of each, together no more regions than the %d shards, or 0 of both for as many", o.Columns, o.Rows, shards)
	must(finite(o.Margin) && o.Margin >= 0, "Margin is %v, want more than 0, or 0 for a sixteenth of a region", o.Margin)
	must(o.Limit >= 0, "Limit is %d, want 1 or more, or 0 for %d", o.Limit, DefaultLimit)
	if err := errors.Join(errs...); err != nil {
		return o, err
	}
	o.Margin = cmp.Or(o.Margin, defaultMargin*min(o.Width/float64(o.Columns), o.Height/float64(o.Rows)))
	o.Limit = cmp.Or(o.Limit, DefaultLimit)
	return o, nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Divide returns the default number of columns and rows for a number of shards:
// the most nearly square grid of exactly as many regions.
func Divide(shards int) (columns, rows int) {
	for rows = int(math.Sqrt(float64(shards))); rows > 1 && shards%rows != 0; rows-- {
	}
	rows = max(rows, 1)
	return shards / rows, rows
}

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
	engine.Of(w).PlaceComponent(reflect.TypeFor[P](), "region.Grid", func(v mem.Address) int { return g.Shard(*(*P)(v)) })
	return g, nil
}

// System is the constructor of the system that moves entities which have crossed a
// border. Add it after those that change positions:
//
//	s.MustAdd("cross", grid.System, scheduler.In(scheduler.PostUpdate))
//
// It reads P of every entity that has one, which costs about 5 ns for
// each. It requests moves for entities beyond a border by more than the margin, in the order of the
// rows, at most Limit. If the shard's outbox is full, it requests the move again in the next tick.
func (g *Grid[P]) System(b *world.Build) func(*world.Context) {
	if b.Shard() == world.AllShards {
		panic("region: Grid.System is to run on each shard; add it without scheduler.Global")
	}
	pos := world.Read[P](b)
	all := b.Query(pos)
	home, own := g.home[b.Shard()], b.Shard()
	return func(c *world.Context) {
		left := g.o.Limit
		for ch := range all.Chunks() {
			for i, p := range pos.Slice(ch) {
				x, y := g.at(p)
				if !(x < home.left || x >= home.right || y < home.bottom || y >= home.top) {
					continue
				}
				to, h := g.shard(x, y), ch.Handle(i)
				if to == own || c.Status(h) != world.Alive { // the dying stay
					continue
				}
				if left == 0 || world.Move(c, h, to) != nil {
					return
				}
				left--
			}
		}
	}
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
