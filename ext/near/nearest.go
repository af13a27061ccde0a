package near

import "math"

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
