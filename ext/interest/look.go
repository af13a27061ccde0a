package interest

import (
	"cmp"
	"math"
	"slices"
	"sync/atomic"

	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/nearby"
)

// classes is how many parts the radius is divided into.
const classes = 32

// look finds the entities that a view sees.
func (w *worker) look(v *View) {
	v.begin()
	w.hits, w.fresh = w.hits[:0], w.fresh[:0]
	if v.place(w.Set); v.placed {
		w.hits = w.near.Within(w.hits, v.from.X, v.from.Y, v.from.Z, v.viewer.Radius, v.viewer.Margin)
	}
	w.indexPairs(v)
	w.readAhead()
	square := min(v.viewer.Radius*v.viewer.Radius, math.MaxFloat64)
	for i := range w.hits {
		hit := &w.hits[i]
		known := atomic.LoadUint64(&w.places[hit.Place])
		if known == 0 {
			known = w.knownAt(hit)
		}
		slot := w.slot(v, hit.Handle, known)
		if hit.Distance2 > square && (slot < 0 || v.pairs.all[slot].seen < v.looked) {
			continue
		}
		if w.hide != nil && w.hide(v, hit.Handle) {
			continue
		}
		if slot < 0 {
			w.fresh = append(w.fresh, newHit{hit, known, w.near.Cell(hit.Place)})
			continue
		}
		p := &v.pairs.all[slot]
		p.row, p.seen, p.class = w.rowOf(hit.Handle, hit.Place, known), w.now, v.class(hit.Distance2)
	}
	w.addNew(v)
	if w.also != nil {
		w.lookAlso(v)
	}
	if v.looked = w.now; w.now-w.sorted == sortEach-1 {
		v.order = w.orderOf(v.from)
	}
}

// readAhead reads the marks of hits that no view has seen yet in this Update. They are scattered
// over memory: this way the reads overlap.
func (w *worker) readAhead() {
	w.missed = append(w.missed[:0], make([]handle.Handle, len(w.hits))...)
	n := 0
	for i := range w.hits { // without an unpredictable branch
		hit := &w.hits[i]
		w.missed[n] = hit.Handle
		if next := n + 1; atomic.LoadUint64(&w.places[hit.Place]) == 0 {
			n = next
		}
	}
	for _, h := range w.missed[:n] {
		w.ahead += w.marks.of(h).Load()
	}
}

// newHit is a hit for which a view has no pair.
type newHit struct {
	*nearby.Hit
	known uint64 // of the entity
	cell  int
}

// addNew adds the entities that have come, in the order of cells, and in each by handle.
func (w *worker) addNew(v *View) {
	if len(w.fresh) > 1 {
		slices.SortFunc(w.fresh, func(a, b newHit) int {
			return cmp.Or(cmp.Compare(a.cell, b.cell), cmp.Compare(a.Handle, b.Handle))
		})
	}
	for i := range w.fresh {
		c := &w.fresh[i]
		w.add(v, c.Handle, w.rowOf(c.Handle, c.Place, c.known), v.class(c.Distance2))
	}
}

// lookAlso adds the entities of Options.Also.
func (w *worker) lookAlso(v *View) {
	w.handles = w.also(w.handles[:0], v)
	for _, h := range w.handles {
		if w.found.Locate(h) == 0 {
			continue
		}
		known := w.known(h)
		slot := w.slot(v, h, known)
		if slot >= 0 && v.pairs.all[slot].seen == w.now || w.hide != nil && w.hide(v, h) {
			continue
		}
		row := w.rowOf(h, none, known)
		if slot < 0 {
			w.add(v, h, row, 0)
			continue
		}
		p := &v.pairs.all[slot]
		p.row, p.seen, p.class = row, w.now, 0
	}
}

// add adds an entity that has come.
func (w *worker) add(v *View, h handle.Handle, row uint32, class uint8) {
	slot := v.pairs.add(h, w.now)
	p := &v.pairs.all[slot]
	p.row, p.seen, p.class = row, w.now, class
	if !w.hashed {
		return
	}
	if w.table.full() {
		w.table.begin(&v.pairs, 1, w.now-1)
		return
	}
	w.table.put(h, slot)
}

// indexPairs notes which pairs a view has: those seen in the last Update by their rows in it,
// others in the table.
func (w *worker) indexPairs(v *View) {
	w.hashed = w.also != nil
	for slot := range v.pairs.all {
		p := &v.pairs.all[slot]
		switch {
		case p.seen == w.now-1:
			w.slots[p.row] = uint32(slot)
		case p.handle != handle.None:
			w.hashed = true
		}
	}
	if w.hashed {
		w.table.begin(&v.pairs, len(w.hits), w.now-1)
	}
}

// slot returns the slot of an entity in a view, or -1.
func (w *worker) slot(v *View, h handle.Handle, known uint64) int {
	if before := uint32(known); before != none {
		if slot := int(w.slots[before]); slot < len(v.pairs.all) && v.pairs.all[slot].handle == h {
			return slot
		}
	}
	if w.hashed {
		return w.table.slot(h)
	}
	return -1
}

// place finds where the viewer is.
func (v *View) place(s *Set) {
	p := v.viewer.At
	v.from, v.placed = p, (p.X-p.X)+(p.Y-p.Y)+(p.Z-p.Z) == 0
	if h := v.viewer.Entity; h != handle.None {
		v.from, v.placed = s.index.Where(s.frame, h)
	}
}

// orderOf returns the place of a point on a Morton curve, so that points next to each other in the
// order are near each other. The bits of x, y and z take turns in it.
func (s *Set) orderOf(p near.Point) uint64 {
	o := s.index.Options()
	each := 1 / o.Cell
	return spread((p.X-o.Min.X)*each) | spread((p.Y-o.Min.Y)*each)<<1 | spread((p.Z-o.Min.Z)*each)<<2
}

// spread returns the lower 21 bits of a number, with two zero bits after each.
func spread(f float64) uint64 {
	if !(f > 0) { // also if f is not a number
		return 0
	}
	x := uint64(min(f, 1<<21-1))
	x = (x | x<<32) & 0x1f00000000ffff
	x = (x | x<<16) & 0x1f0000ff0000ff
	x = (x | x<<8) & 0x100f00f00f00f00f
	x = (x | x<<4) & 0x10c30c30c30c30c3
	return (x | x<<2) & 0x1249249249249249
}
