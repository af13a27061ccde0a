package hierarchy

import "github.com/atoll-sim/atoll/handle"

// bequest is what an entity leaves that dies or is removed: the children that live on, at the
// beginning of its list's bucket, and to whom. The bucket is taken from the list, so that children
// are neither copied nor noted, and each is linked once, to its new parent.
//
//	passOn   while all links are there: who lives on, and the heir
//	take     the bucket; the children that die are unlinked. The link of the others is out of date
//	adopt    when all who die are gone: the children go behind the heir's own
type bequest struct {
	to    handle.Handle
	list  uint32
	class int // of the bucket
	start int
	n     int // children
}

// passOn notes, in r.bequests, that the children of h that do not die go to the nearest ancestor of
// h that does not die either.
func (r *Relation) passOn(h handle.Handle, dies func(handle.Handle) bool) {
	t, to, n := r.tree, handle.None, 0
	number := t.own(h)
	items := t.items(number)
	for i, child := range items {
		if child == handle.None || dies(child) {
			continue
		}
		if n == 0 {
			if to = r.heir(h, dies); to == handle.None {
				return
			}
		}
		items[n], items[i] = child, items[n] // the links of those who die are not read before take
		n++
	}
	if n > 0 {
		r.bequests = append(r.bequests, bequest{to: to, list: number, n: n})
	}
}

// takeBequests takes the buckets from the lists.
func (r *Relation) takeBequests() {
	t := r.tree
	for i := range r.bequests {
		b := &r.bequests[i]
		for _, child := range t.items(b.list)[b.n:] {
			if child != handle.None {
				t.unlink(child)
			}
		}
		l := t.list(b.list)
		b.start, b.class = l.start(), l.class()
		t.empty(b.list)
		l.setBucket(0, noBucket)
	}
}

// adoptBequests gives the children to their new parents.
func (r *Relation) adoptBequests() {
	for i := range r.bequests {
		b := &r.bequests[i]
		if !r.tree.adopt(b) {
			for _, child := range r.tree.bucket(b.start, b.n) {
				r.tree.unlink(child)
				// A fixed list may be full, or memory short. Then the child becomes an orphan.
				_ = r.tree.change(child, &change{op: opAdopt, to: b.to})
			}
		}
		if b.class != noBucket {
			r.tree.chain(b.start, b.class)
		}
	}
	r.bequests = r.bequests[:0]
}

// adopt gives the children to a parent whose list has, or gets, room for all of them. It reports
// false if it has done nothing. An empty list gets the bucket, unless a sweep empties its arena.
func (t *Tree) adopt(b *bequest) bool {
	number, err := t.listOf(b.to)
	if err != nil {
		return false
	}
	l := t.list(number)
	place, children := l.places(), t.bucket(b.start, b.n)
	switch {
	case l.is(fixed):
		return false
	case place == 0 && !t.shrinks(b.class, b.n) && !t.arenaAt(b.start).old:
		t.freeBucket(l)
		l.setBucket(b.start, b.class)
		b.class = noBucket
	case t.makeRoom(number, place+b.n) != nil:
		return false
	default:
		copy(t.bucket(l.start(), place+b.n)[place:], children)
	}
	t.touchPlaces(number, place, place+b.n)
	for i, child := range children {
		t.link(child, number, place+i)
	}
	l.setPlaces(place + b.n)
	l[listState] += word(b.n) * childOne
	t.links += b.n
	return true
}

// heirsEvery is at which of the dying ancestors that are climbed their heir is remembered.
const heirsEvery = 16

// heir returns the nearest ancestor of h that does not die, or None.
func (r *Relation) heir(h handle.Handle, dies func(handle.Handle) bool) handle.Handle {
	t, n := r.tree, 0
	up := t.parent(h)
	for ; up != handle.None && dies(up); up = t.parent(up) {
		if n++; n < heirsEvery {
			continue
		}
		if to, known := r.heirs[up]; known {
			up = to
			break
		}
		if n%heirsEvery == 0 {
			r.climbed = append(r.climbed, up)
		}
	}
	if len(r.climbed) > 0 && r.heirs == nil {
		r.heirs = map[handle.Handle]handle.Handle{}
	}
	for _, far := range r.climbed {
		r.heirs[far] = up
	}
	r.climbed = r.climbed[:0]
	return up
}

// forgetHeirs forgets what heir has remembered.
func (r *Relation) forgetHeirs() {
	if len(r.heirs) > heirsKept {
		r.heirs, r.climbed = nil, nil
	}
	clear(r.heirs)
}

// heirsKept is up to how many the memory is kept for the next.
const heirsKept = 1 << 10
