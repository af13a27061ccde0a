package interest

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/near"
)

// classes is into how many parts the radius is divided.
const classes = 32

// look finds who is seen in a view.
func (w *worker) look(v *View) {
	v.begin()
	w.hits = w.hits[:0]
	if v.place(w.Set); v.placed {
		w.hits = w.read.AppendWithin(w.hits, v.from, v.viewer.Radius+v.viewer.Margin)
	}
	w.table.begin(&v.pairs, len(w.hits))
	for i := range w.hits { // the marks are all over memory: wait for all at once
		w.ahead += w.marks.of(w.hits[i].Handle).Load()
	}
	square := v.viewer.Radius * v.viewer.Radius
	for i := range w.hits {
		hit := &w.hits[i]
		slot := w.table.slot(hit.Handle)
		if hit.Distance2 > square && (slot < 0 || v.pairs.all[slot].seen < v.looked) {
			continue
		}
		w.see(v, hit.Handle, slot, v.class(hit.Distance2))
	}
	if w.also != nil {
		w.handles = w.also(w.handles[:0], v)
		for _, h := range w.handles {
			if w.found.Locate(h) == 0 {
				continue
			}
			if w.table.full() {
				w.table.begin(&v.pairs, len(w.handles))
			}
			if slot := w.table.slot(h); slot < 0 || v.pairs.all[slot].seen != w.now {
				w.see(v, h, slot, 0)
			}
		}
	}
	if v.looked = w.now; w.now-w.sorted == sortEach-1 {
		v.order = w.orderOf(v.from)
	}
}

// place finds where the viewer is.
func (v *View) place(s *Set) {
	v.from, v.placed = v.viewer.At, true
	if h := v.viewer.Entity; h != handle.None {
		v.from, v.placed = s.index.Where(s.frame, h)
	}
}

// orderOf returns where a point is in an order in which points behind each other are near each other: that of
// Morton, whose numbers have the bits of x, y and z in turn.
func (s *Set) orderOf(p near.Point) uint64 {
	o := s.index.Options()
	each := 1 / o.Cell
	return spread((p.X-o.Min.X)*each) | spread((p.Y-o.Min.Y)*each)<<1 | spread((p.Z-o.Min.Z)*each)<<2
}

// spread returns the lower 21 bits of a number, two apart.
func spread(f float64) uint64 {
	x := uint64(min(max(f, 0), 1<<21-1))
	x = (x | x<<32) & 0x1f00000000ffff
	x = (x | x<<16) & 0x1f0000ff0000ff
	x = (x | x<<8) & 0x100f00f00f00f00f
	x = (x | x<<4) & 0x10c30c30c30c30c3
	return (x | x<<2) & 0x1249249249249249
}

// see notes that an entity is seen, which has a slot already, or -1.
func (w *worker) see(v *View, h handle.Handle, slot int, class uint8) {
	if w.hide != nil && w.hide(v, h) {
		return
	}
	if slot < 0 {
		slot = v.pairs.add(h, w.now)
		w.table.put(h, slot)
	}
	p := &v.pairs.all[slot]
	p.row, p.seen, p.class = w.rowOf(h), w.now, class
}
