package near

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

// Hit is an entity that was found.
type Hit struct {
	Handle handle.Handle
	At     Point // where the entity was
	// Distance2 is the square of the distance: from the point that was asked about, or from where
	// the line begins. A hit in a box has 0. It is infinite if the distance is more than 1.3e154.
	Distance2 float64
}

// Reader reads an Index. Its methods append to dst and return the result, as append
// does: with room in dst they allocate nothing. Distances are compared by their squares; those
// whose squares a float64 cannot hold are compared, too, a little more slowly. Two entities less
// than 1e-154 apart may count as being at one place.
//
// AppendWithin and AppendBox order hits by cell, in z, y and x, and within a cell by handle. What
// they find depends only on where entities are.
//
// Ownership: of a Build, the systems that run; of a World, the goroutine that has the idle world;
// of a Frame, any number of goroutines until the frame is released.
type Reader struct {
	index  *Index
	frozen *version // of a frame
	idle   bool
}

// version returns the version to read.
func (r *Reader) version(call string) *version {
	if r.frozen != nil {
		if r.frozen.base == nil { // the frame was released: its memory may hold something else by now
			panic(fmt.Sprintf("near: %s of a Frame that was released; release it after its last use", call))
		}
		return r.frozen
	}
	if r.idle {
		if !r.index.driver.Idle() && r.index.w.Err() == nil {
			panic(fmt.Sprintf("near: %s by the World's Reader while a tick or refresh runs; in systems and hooks use that of Index.Read of their Build, elsewhere that of a Frame", call))
		}
		r.index.driver.MustIdle(call)
	}
	if r.index.current == nil {
		panic(fmt.Sprintf("near: %s of the %s, whose function has panicked; call Index.Read again", call, r.index.name))
	}
	return r.index.current
}

// AppendWithin appends the entities no farther than radius from a point. It finds nothing if radius
// is negative, or an argument is not a number.
func (r *Reader) AppendWithin(dst []Hit, c Point, radius float64) []Hit {
	v := r.version("Reader.AppendWithin")
	if !c.finite() || !(radius >= 0) {
		return dst
	}
	s := newBall(c, radius)
	return v.find(dst, &s, v.grid.around(&c, radius))
}

// AppendBox appends the entities in a box. Its bounds are part of the box and may be infinite. It
// finds nothing if a bound of min is above that of max, or is not a number.
func (r *Reader) AppendBox(dst []Hit, min, max Point) []Hit {
	v := r.version("Reader.AppendBox")
	if !(min.X <= max.X && min.Y <= max.Y && min.Z <= max.Z) {
		return dst
	}
	s := shape{kind: box, at: min, to: max}
	return v.find(dst, &s, v.grid.blockOf(min, max))
}

// AppendAlong appends the entities no farther than radius from the line between two points, ordered
// by their distance from the first one, and by handle among those at the same distance: what a shot
// hits. It finds nothing if radius is negative or not a number, or if a coordinate or the length of
// the line is infinite or not a number.
func (r *Reader) AppendAlong(dst []Hit, from, to Point, radius float64) []Hit {
	v := r.version("Reader.AppendAlong")
	if !from.finite() || !to.finite() || !(radius >= 0) {
		return dst
	}
	s := newLine(from, to, radius)
	if !s.dir.finite() {
		return dst
	}
	first := len(dst)
	b := v.grid.blockOf(Point{min(from.X, to.X) - s.reach, min(from.Y, to.Y) - s.reach, min(from.Z, to.Z) - s.reach},
		Point{max(from.X, to.X) + s.reach, max(from.Y, to.Y) + s.reach, max(from.Z, to.Z) + s.reach})
	dst = v.find(dst, &s, b)
	byDistance(dst[first:], &from)
	return dst
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

// few is up to how many hits insertion sort orders.
const few = 24

// byHandle orders hits of a cell, which mostly are in order already.
func byHandle(hits []Hit) {
	if len(hits) > few {
		if compare := func(a, b Hit) int { return cmp.Compare(a.Handle, b.Handle) }; !slices.IsSortedFunc(hits, compare) {
			slices.SortFunc(hits, compare)
		}
		return
	}
	for i := 1; i < len(hits); i++ {
		if hits[i-1].Handle <= hits[i].Handle {
			continue
		}
		x, k := hits[i], i
		for ; k > 0 && hits[k-1].Handle > x.Handle; k-- {
			hits[k] = hits[k-1]
		}
		hits[k] = x
	}
}

// farther reports whether a hit is behind another by its distance from a point, or by handle at the
// same.
func (x *Hit) farther(y *Hit, from *Point) bool {
	return x.Distance2 > y.Distance2 || x.Distance2 == y.Distance2 && x.compare(y, from) > 0
}

func (x *Hit) compare(y *Hit, from *Point) int {
	if x.Distance2 != y.Distance2 {
		return cmp.Compare(x.Distance2, y.Distance2)
	}
	if math.IsInf(x.Distance2, 1) {
		if c := cmp.Compare(x.At.far(from), y.At.far(from)); c != 0 {
			return c
		}
	}
	return cmp.Compare(x.Handle, y.Handle)
}

// byDistance orders hits by their distance from a point, and by handle.
func byDistance(hits []Hit, from *Point) {
	if len(hits) > few {
		slices.SortFunc(hits, func(a, b Hit) int { return a.compare(&b, from) })
		return
	}
	for i := 1; i < len(hits); i++ {
		x, k := hits[i], i
		for ; k > 0 && hits[k-1].farther(&x, from); k-- {
			hits[k] = hits[k-1]
		}
		hits[k] = x
	}
}
