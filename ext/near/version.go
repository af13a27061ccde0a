package near

import (
	"math"
	"slices"

	"github.com/atoll-sim/atoll/internal/nearby"
)

// version is an index as readers see it, from one update to the next, or as a frame has it.
//
// Invariants: nothing writes to it while it is the current one or frames have it.
type version struct {
	grid   grid
	base   *layer
	delta  layer
	dead   []uint64 // the entries of base that are not valid; empty if there are none
	copied bool     // frames have it, or may have it again
	reader Reader   // of frames
}

// Part does nothing: a version is not copied in parts.
func (v *version) Part(int) {}

// Bytes returns the memory that the version takes. Frames share that of base.
func (v *version) Bytes() uint64 {
	return v.delta.bytes() + 8*uint64(cap(v.dead)) + v.base.bytes()/uint64(max(1, v.base.copies))
}

// find appends the entities in a shape. All points of the shape are in the block b.
func (v *version) find(dst []Hit, s *shape, b block) []Hit {
	for z := b.z0; z <= b.z1; z++ {
		for y := b.y0; y <= b.y1; y++ {
			x0, x1 := b.x0, b.x1
			if s.kind == line {
				x0, x1 = s.clip(&v.grid, y, z, x0, x1)
			}
			if x0 <= x1 {
				row := v.grid.row(y, z)
				dst = v.findRun(dst, s, row+x0, row+x1)
			}
		}
	}
	return dst
}

// findRun appends the entities of a run of cells that are in a shape.
func (v *version) findRun(dst []Hit, s *shape, first, last int) []Hit {
	delta := v.delta.entries
	if len(delta) > 0 {
		if from, to := v.delta.run(first, last); from == to {
			delta = nil
		}
	}
	base, starts := v.base.entries, v.base.starts[first:last+2]
	from := int(starts[0])
	for i, to := range starts[1:] {
		n := len(dst)
		if from < int(to) {
			dst = s.collect(dst, base[from:to], v.dead, from)
			from = int(to)
		}
		if len(delta) > 0 {
			a, b := v.delta.run(first+i, first+i)
			dst = s.collect(dst, delta[a:b], nil, 0)
		}
		if len(dst)-n > 1 {
			byHandle(dst[n:])
		}
	}
	return dst
}

func init() {
	nearby.Register(func(reader any) nearby.Index { return reader.(*Reader).version("interest.Clients.Update") })
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
