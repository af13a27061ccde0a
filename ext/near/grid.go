package near

import "math"

// Point is a place. Where there are only two axes, Z is 0.
type Point struct{ X, Y, Z float64 }

// finite reports whether no coordinate is infinite or not a number.
func (p *Point) finite() bool { return (p.X-p.X)+(p.Y-p.Y)+(p.Z-p.Z) == 0 }

// square returns the squared distance of two points. As everywhere in this package where it decides
// what is found, each product is rounded by a conversion: Go may otherwise fuse it with the sum, on
// some machines and not on others.
func (p *Point) square(q *Point) float64 {
	x, y, z := p.X-q.X, p.Y-q.Y, p.Z-q.Z
	return float64(x*x) + float64(y*y) + float64(z*z)
}

// shrink makes all coordinates so small that squares of their differences do not overflow.
const shrink = 0x1p-520

func (p *Point) shrunk() Point { return Point{p.X * shrink, p.Y * shrink, p.Z * shrink} }

// far returns the squared distance of two shrunk points: it is for those whose squared distance is
// infinite.
func (p *Point) far(q *Point) float64 {
	a, b := p.shrunk(), q.shrunk()
	return a.square(&b)
}

// far returns the square of a shrunk length.
func far(length float64) float64 { return length * shrink * (length * shrink) }

// grid divides space in cells. What is outside is in the nearest cell.
type grid struct {
	min, max   Point
	side, each float64 // of a cell; how many there are in a unit of length
	x, y, z    int     // how many cells there are each way
}

// block is a block of cells. Both bounds belong to it.
type block struct{ x0, x1, y0, y1, z0, z1 int }

// step returns the number of the cell that a coordinate is in. It is small enough to be inlined,
// and never lower for a higher coordinate.
func step(v, least, each float64, n int) int {
	f := (v - least) * each
	if !(f >= 1) {
		return 0
	}
	if f >= float64(n) {
		return n - 1
	}
	return int(f)
}

// cells returns how many cells there are.
func (g *grid) cells() int { return g.x * g.y * g.z }

// cell returns the cell that a point is in.
func (g *grid) cell(p *Point) int {
	k := step(p.Y, g.min.Y, g.each, g.y)
	if g.z > 1 {
		k += step(p.Z, g.min.Z, g.each, g.z) * g.y
	}
	return k*g.x + step(p.X, g.min.X, g.each, g.x)
}

// find sets cells to the cells of points: none for a point that is not finite.
func (g *grid) find(points []Point, cells []uint32) {
	least, each, x, y, z := g.min, g.each, g.x, g.y, g.z
	for i := range points[:len(cells)] {
		p := &points[i]
		if !p.finite() {
			cells[i] = none
			continue
		}
		k := step(p.Y, least.Y, each, y)
		if z > 1 {
			k += step(p.Z, least.Z, each, z) * y
		}
		cells[i] = uint32(k*x + step(p.X, least.X, each, x))
	}
}

// row returns the first cell of a row.
func (g *grid) row(y, z int) int { return (z*g.y + y) * g.x }

// rounding bounds the error of coordinates, relative to the size of the numbers that they are
// computed from.
const rounding = 0x1p-48

// blockOf returns the cells that may have points with coordinates from min to max.
func (g *grid) blockOf(min, max Point) block {
	x0, x1 := g.span(min.X, max.X, g.min.X, g.x)
	y0, y1 := g.span(min.Y, max.Y, g.min.Y, g.y)
	z0, z1 := g.span(min.Z, max.Z, g.min.Z, g.z)
	return block{x0, x1, y0, y1, z0, z1}
}

func (g *grid) span(from, to, least float64, n int) (first, last int) {
	from, to = from-rounding*math.Abs(from), to+rounding*math.Abs(to)
	return step(from, least, g.each, n), step(to, least, g.each, n)
}

// around returns the cells with points no farther away than radius each way.
func (g *grid) around(p *Point, radius float64) block {
	slack := rounding * (math.Abs(p.X) + math.Abs(p.Y) + math.Abs(p.Z))
	r := radius + slack
	return g.blockOf(Point{p.X - r, p.Y - r, p.Z - r}, Point{p.X + r, p.Y + r, p.Z + r})
}

// clamp returns the nearest point of the grid.
func (g *grid) clamp(p Point) Point {
	return Point{
		min(max(p.X, g.min.X), g.max.X),
		min(max(p.Y, g.min.Y), g.max.Y),
		min(max(p.Z, g.min.Z), g.max.Z),
	}
}

// clear returns a distance from p, which is in the block. All points nearer than that are in the
// block's cells.
func (g *grid) clear(p *Point, b *block) float64 {
	least := math.Inf(1)
	side := func(v, from float64, first, last, n int) {
		if first > 0 {
			least = min(least, v-(from+float64(first)*g.side))
		}
		if last < n-1 {
			least = min(least, from+float64(last+1)*g.side-v)
		}
	}
	side(p.X, g.min.X, b.x0, b.x1, g.x)
	side(p.Y, g.min.Y, b.y0, b.y1, g.y)
	side(p.Z, g.min.Z, b.z0, b.z1, g.z)
	size := max(math.Abs(g.min.X), math.Abs(g.max.X)) + max(math.Abs(g.min.Y), math.Abs(g.max.Y)) + max(math.Abs(g.min.Z), math.Abs(g.max.Z))
	return max(0, least-rounding*size)
}
