package near

import "math"

// shape is what queries ask for, other than the nearest.
type shape struct {
	kind   kind
	at, to Point // the centre; the lowest and highest corner; both ends
	square float64
	dir    Point   // of a line, from at to to
	unit   Point   // dir, scaled by a power of two so that no square overflows or underflows a float64
	over   float64 // that power / the square of the length of unit
	reach  float64 // a little more than the radius, for rounding
	small  *shape  // of a wide one: a line that is the same, but shrunk
}

type kind uint8

const (
	ball kind = iota
	box
	line
	wide // a ball or a line with a radius whose square is infinite
)

func newBall(c Point, radius float64) shape {
	s := shape{kind: ball, at: c, square: radius * radius}
	if math.IsInf(s.square, 1) && !math.IsInf(radius, 1) {
		s.shrink(c, radius)
	}
	return s
}

func newLine(from, to Point, radius float64) shape {
	s := lineOf(from, to, radius)
	if math.IsInf(s.square, 1) {
		s.shrink(to, radius)
	}
	return s
}

// shrink makes the shape, which is a line to a point, or a ball around it, a wide one.
func (s *shape) shrink(to Point, radius float64) {
	small := lineOf(s.at.shrunk(), to.shrunk(), radius*shrink)
	s.kind, s.small = wide, &small
}

// lineOf makes the shape of all points within a radius of the line between two points.
func lineOf(from, to Point, radius float64) shape {
	s := shape{kind: line, at: from, to: to, square: radius * radius}
	s.dir = Point{to.X - from.X, to.Y - from.Y, to.Z - from.Z}
	if most := max(math.Abs(s.dir.X), math.Abs(s.dir.Y), math.Abs(s.dir.Z)); most > 0 {
		_, e := math.Frexp(most)
		s.unit = Point{math.Ldexp(s.dir.X, -e), math.Ldexp(s.dir.Y, -e), math.Ldexp(s.dir.Z, -e)}
		l := float64(s.unit.X*s.unit.X) + float64(s.unit.Y*s.unit.Y) + float64(s.unit.Z*s.unit.Z)
		s.over = min(math.Ldexp(1/l, -e), math.MaxFloat64)
	}
	size := math.Abs(from.X) + math.Abs(from.Y) + math.Abs(from.Z) + math.Abs(to.X) + math.Abs(to.Y) + math.Abs(to.Z)
	s.reach = radius + rounding*(size+radius)
	return s
}

// collect appends the entries that are in the shape, except dead ones. from is the number of the
// first.
func (s *shape) collect(dst []Hit, entries []entry, dead []uint64, from int) []Hit {
	switch s.kind {
	case ball:
		for i := range entries {
			e := &entries[i]
			x, y, z := e.X-s.at.X, e.Y-s.at.Y, e.Z-s.at.Z
			d := float64(x*x) + float64(y*y) + float64(z*z)
			if d <= s.square && (len(dead) == 0 || !anyOf(dead, from+i)) {
				dst = append(dst, Hit{e.handle, e.Point, d})
			}
		}
	case box:
		for i := range entries {
			e := &entries[i]
			if e.X >= s.at.X && e.X <= s.to.X && e.Y >= s.at.Y && e.Y <= s.to.Y && e.Z >= s.at.Z && e.Z <= s.to.Z &&
				(len(dead) == 0 || !anyOf(dead, from+i)) {
				dst = append(dst, Hit{e.handle, e.Point, 0})
			}
		}
	case line:
		for i := range entries {
			e := &entries[i]
			if s.off(&e.Point) <= s.square && (len(dead) == 0 || !anyOf(dead, from+i)) {
				dst = append(dst, Hit{e.handle, e.Point, e.Point.square(&s.at)})
			}
		}
	case wide:
		for i := range entries {
			e := &entries[i]
			p := e.Point.shrunk()
			if s.small.off(&p) <= s.small.square && (len(dead) == 0 || !anyOf(dead, from+i)) {
				dst = append(dst, Hit{e.handle, e.Point, e.Point.square(&s.at)})
			}
		}
	}
	return dst
}

// off returns the square of the distance of a point from a line.
func (s *shape) off(p *Point) float64 {
	x, y, z := p.X-s.at.X, p.Y-s.at.Y, p.Z-s.at.Z
	t := min(max((float64(x*s.unit.X)+float64(y*s.unit.Y)+float64(z*s.unit.Z))*s.over, 0), 1)
	x, y, z = x-float64(t*s.dir.X), y-float64(t*s.dir.Y), z-float64(t*s.dir.Z)
	return float64(x*x) + float64(y*y) + float64(z*z)
}

// clip returns which cells of a row, of those from x0 to x1, may have points near the line.
func (s *shape) clip(g *grid, y, z, x0, x1 int) (first, last int) {
	from, to := 0.0, 1.0 // the part of the line that comes near the row
	from, to = s.part(from, to, s.at.Y, s.dir.Y, g.min.Y, g.side, y, g.y)
	from, to = s.part(from, to, s.at.Z, s.dir.Z, g.min.Z, g.side, z, g.z)
	if from > to {
		return 1, 0
	}
	a, b := s.at.X+from*s.dir.X, s.at.X+to*s.dir.X
	first, last = g.span(min(a, b)-s.reach, max(a, b)+s.reach, g.min.X, g.x)
	return max(first, x0), min(last, x1)
}

// part returns the part of a line, from 0 to 1, whose coordinate is within side of a row's. Where a
// row ends is rounded by the size of the grid up to there: the end itself may be 0.
func (s *shape) part(from, to, at, dir, least, side float64, row, n int) (float64, float64) {
	low, high := math.Inf(-1), math.Inf(1)
	if row > 0 {
		edge := float64(row) * side
		low = least + edge - s.reach - rounding*(math.Abs(least)+edge)
	}
	if row < n-1 {
		edge := float64(row+1) * side
		high = least + edge + s.reach + rounding*(math.Abs(least)+edge)
	}
	if dir == 0 {
		if at < low || at > high {
			return 1, 0
		}
		return from, to
	}
	a, b := (low-at)/dir, (high-at)/dir
	if a > b {
		a, b = b, a
	}
	return max(from, a-rounding), min(to, b+rounding)
}
