package near

import (
	"math"
	"slices"

	"github.com/atoll-sim/atoll/internal/nearby"
)

func init() {
	nearby.Register(func(reader any) nearby.Index { return reader.(*Reader).version("interest.Set.Update") })
}

// Places returns how many entries there are. Those of base come first.
func (v *version) Places() int { return len(v.base.entries) + len(v.delta.entries) }

// Cell returns the cell of an entry.
func (v *version) Cell(place uint32) int {
	return v.grid.cell(v.at(place))
}

// at returns where an entry is.
func (v *version) at(place uint32) *Point {
	if n := uint32(len(v.base.entries)); place >= n {
		return &v.delta.entries[place-n].Point
	}
	return &v.base.entries[place].Point
}

// Within is AppendWithin with a radius and a margin, without the order in a cell.
func (v *version) Within(dst []nearby.Hit, x, y, z, radius, margin float64) []nearby.Hit {
	c, inner, first := Point{x, y, z}, radius, len(dst)
	radius += margin
	if !c.finite() || !(radius >= 0) {
		return dst
	}
	b := v.grid.around(&c, radius)
	for z := b.z0; z <= b.z1; z++ {
		for y := b.y0; y <= b.y1; y++ {
			row := v.grid.row(y, z)
			from, to := v.base.run(row+b.x0, row+b.x1)
			dst = within(dst, v.base.entries[from:to], uint32(from), &c, radius*radius, v.dead, uint32(from))
			if len(v.delta.entries) > 0 {
				from, to = v.delta.run(row+b.x0, row+b.x1)
				dst = within(dst, v.delta.entries[from:to], uint32(len(v.base.entries)+from), &c, radius*radius, nil, 0)
			}
		}
	}
	if math.IsInf(radius*radius, 1) {
		dst = v.sift(dst, first, &c, far(inner), far(radius))
	}
	return dst
}

// sift looks again at hits, from one on, whose squared distances are infinite: some are beyond the
// radius, and not hits; those that are within have another one.
func (v *version) sift(hits []nearby.Hit, first int, c *Point, within, radius float64) []nearby.Hit {
	n := first
	for _, x := range hits[first:] {
		if math.IsInf(x.Distance2, 1) {
			switch d := v.at(x.Place).far(c); {
			case d > radius:
				continue
			case d <= within:
				x.Distance2 = math.MaxFloat64
			}
		}
		hits[n] = x
		n++
	}
	return hits[:n]
}

// within appends the entries whose squared distance from a point is at most square, except dead
// ones. place is that of the first. Whether an entry is within is unpredictable, so no branch
// depends on it.
func within(dst []nearby.Hit, entries []entry, place uint32, c *Point, square float64, dead []uint64, from uint32) []nearby.Hit {
	n := len(dst)
	dst = slices.Grow(dst, len(entries)+1)[:n+len(entries)+1]
	at := *c
	for i := range entries {
		e := &entries[i]
		x, y, z := e.X-at.X, e.Y-at.Y, e.Z-at.Z
		d := float64(x*x) + float64(y*y) + float64(z*z)
		dst[n] = nearby.Hit{Handle: e.handle, Distance2: d, Place: place + uint32(i)}
		next := n + 1
		if len(dead) > 0 && anyOf(dead, int(from)+i) {
			next = n
		}
		if d > square {
			next = n
		}
		n = next
	}
	return dst[:n]
}
