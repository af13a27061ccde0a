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
		if !r.index.engine.Idle() && r.index.w.Err() == nil {
			panic(fmt.Sprintf("near: %s by the World's Reader while a tick or refresh runs; in systems and hooks use that of Index.Read of their Build, elsewhere that of a Frame", call))
		}
		r.index.engine.MustIdle(call)
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

// AppendNearest appends the k entities that are nearest to a point, and no farther than most, which
// may be infinite; the nearest first, and by handle those at the same distance. It finds nothing if
// most is negative, or an argument is not a number. An entity at the point is found, too, even if
// it is the one that asks.
func (r *Reader) AppendNearest(dst []Hit, c Point, k int, most float64) []Hit {
	v := r.version("Reader.AppendNearest")
	if k <= 0 || !c.finite() || !(most >= 0) {
		return dst
	}
	s := search{version: v, at: c, k: k, limit: most * most, far: far(most), hits: dst, first: len(dst)}
	s.run(v.grid.around(&c, most))
	byDistance(s.hits[s.first:], &c)
	return s.hits
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
func (h *Hit) farther(y *Hit, from *Point) bool {
	return h.Distance2 > y.Distance2 || h.Distance2 == y.Distance2 && h.compare(y, from) > 0
}

// compare orders two hits by their distance from a point, and by handle at the same distance. Where
// both squares are infinite it compares the distances themselves.
func (h *Hit) compare(y *Hit, from *Point) int {
	if h.Distance2 != y.Distance2 {
		return cmp.Compare(h.Distance2, y.Distance2)
	}
	if math.IsInf(h.Distance2, 1) {
		if c := cmp.Compare(h.At.far(from), y.At.far(from)); c != 0 {
			return c
		}
	}
	return cmp.Compare(h.Handle, y.Handle)
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

// search is a search for the nearest.
type search struct {
	*version
	at    Point
	k     int
	limit float64 // the square of a distance: what is farther is no hit
	far   float64 // the same of what may be found at all, shrunk
	full  bool    // there are k hits
	hits  []Hit   // from first on: a heap, the farthest first
	first int
}

// run looks at cells around the point, farther and farther away, up to those of a block.
func (s *search) run(all block) {
	g := &s.grid
	home := g.clamp(s.at)
	x, y, z := step(home.X, g.min.X, g.each, g.x), step(home.Y, g.min.Y, g.each, g.y), step(home.Z, g.min.Z, g.each, g.z)
	was := block{0, -1, 0, -1, 0, -1}
	for reach := 0; ; reach = max(1, 2*reach) {
		b := block{
			max(x-reach, all.x0), min(x+reach, all.x1), max(y-reach, all.y0), min(y+reach, all.y1),
			max(z-reach, all.z0), min(z+reach, all.z1),
		}
		s.look(&b, &was)
		if b == all {
			return
		}
		if s.full {
			if d := g.clear(&home, &b); s.limit < d*d {
				return
			}
		}
		was = b
	}
}

// look looks at the cells of a block, except those of the last one.
func (s *search) look(b, was *block) {
	for z := b.z0; z <= b.z1; z++ {
		for y := b.y0; y <= b.y1; y++ {
			row := s.grid.row(y, z)
			if z < was.z0 || z > was.z1 || y < was.y0 || y > was.y1 {
				s.cells(row+b.x0, row+b.x1)
				continue
			}
			s.cells(row+b.x0, row+was.x0-1)
			s.cells(row+was.x1+1, row+b.x1)
		}
	}
}

// cells looks at a run of cells.
func (s *search) cells(first, last int) {
	if first > last {
		return
	}
	from, to := s.base.run(first, last)
	s.entries(s.base.entries[from:to], s.dead, from)
	if len(s.delta.entries) > 0 {
		from, to = s.delta.run(first, last)
		s.entries(s.delta.entries[from:to], nil, 0)
	}
}

// entries adds the entries that are near enough, except dead ones. from is the number of the first
// entry in dead.
func (s *search) entries(entries []entry, dead []uint64, from int) {
	for i := range entries {
		e := &entries[i]
		x, y, z := e.X-s.at.X, e.Y-s.at.Y, e.Z-s.at.Z
		d := float64(x*x) + float64(y*y) + float64(z*z)
		if d > s.limit || len(dead) > 0 && anyOf(dead, from+i) {
			continue
		}
		if x := (Hit{e.handle, e.Point, d}); d < s.limit || s.admits(&x) {
			s.add(x)
		}
	}
}

// admits reports whether an entry is a hit whose squared distance equals the limit: both may be
// infinite.
func (s *search) admits(x *Hit) bool {
	if math.IsInf(x.Distance2, 1) && x.At.far(&s.at) > s.far {
		return false
	}
	return !s.full || s.hits[s.first].farther(x, &s.at)
}

// add adds a hit, in place of the farthest if there are k.
func (s *search) add(x Hit) {
	if !s.full {
		s.hits = append(s.hits, x)
		heap := s.hits[s.first:]
		i := len(heap) - 1
		for ; i > 0 && x.farther(&heap[(i-1)/2], &s.at); i = (i - 1) / 2 {
			heap[i] = heap[(i-1)/2]
		}
		heap[i] = x
		if s.full = len(heap) == s.k; s.full {
			s.limit = heap[0].Distance2
		}
		return
	}
	heap := s.hits[s.first:]
	i := 0
	for {
		down := 2*i + 1
		if down >= len(heap) {
			break
		}
		if down+1 < len(heap) && heap[down+1].farther(&heap[down], &s.at) {
			down++
		}
		if !heap[down].farther(&x, &s.at) {
			break
		}
		heap[i] = heap[down]
		i = down
	}
	heap[i] = x
	s.limit = heap[0].Distance2
}
