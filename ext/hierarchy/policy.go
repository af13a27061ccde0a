package hierarchy

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/extend"
)

// OnParentDeath is what becomes of the children when an entity dies.
type OnParentDeath uint8

// The policies for children.
const (
	// Destroy destroys them too, and their descendants, in the same refresh, whatever their
	// shards.
	Destroy OnParentDeath = iota
	// Orphan leaves them without a parent.
	Orphan
	// Grandparent gives them to the nearest living ancestor, after its other children. If there is
	// none, or its list is fixed and full, they become orphans.
	Grandparent
	// SpareParent spares the parent instead: an entity that has a living child is not destroyed, and
	// the outcome of the request is Refused. Later requests on it in the same refresh are Gone all
	// the same. If the entity dies with a parent in another relation, its children become orphans.
	// An entity that its last reference.Owner released is spared as well. It has no owner then; a
	// system that finds it in Reader.Conflicts may destroy it later.
	SpareParent
)

// String returns the policy as a lower-case word.
func (o OnParentDeath) String() string {
	if o > SpareParent {
		return "unknown"
	}
	return [...]string{"destroy", "orphan", "grandparent", "spare"}[o]
}

// Follows reports whether children do not die with their parents.
func (a adapter) Follows() bool { return a.options.OnParentDeath != Destroy }

// Spare spares entities that have living children, if that is the policy. It also spares their
// ancestors among the dying, because these have a living child then.
func (a adapter) Spare(d *extend.DyingSet) bool {
	if a.options.OnParentDeath != SpareParent {
		return false
	}
	a.forget()
	before := d.Spared()
	news, first := d.News()
	for _, h := range news {
		a.spare(d, a.tree.parent(h))
	}
	if first {
		living := func(child handle.Handle) bool { return child != handle.None && !d.Has(child) }
		for _, h := range d.All() {
			if d.Has(h) && slices.ContainsFunc(a.tree.items(a.tree.own(h)), living) {
				a.spare(d, h)
			}
		}
	}
	return d.Spared() > before
}

// spare spares h and its ancestors among the dying, up to one that has left the world.
func (a adapter) spare(d *extend.DyingSet, h handle.Handle) {
	for ; h != handle.None && d.Has(h) && !d.Left(h); h = a.tree.parent(h) {
		d.Spare(h)
		a.note(Conflict{Change: "Destroy", Entity: h, Err: ErrChildren})
	}
}

// Spread removes dying entities from the relation and applies the policy to their
// children. Children that it marks are removed with their parent; those of
// them that are parents wait in k.dying.
func (a adapter) Spread(d *extend.DyingSet, from int) {
	if a.options.OnParentDeath == Grandparent {
		for _, h := range d.All()[from:] { // while all links still exist
			a.passOn(h, d.Has)
		}
		a.forgetHeirs()
		a.takeBequests()
	}
	a.tree.putOff = true
	to := len(d.All())
	for i := from; i < to; i++ {
		a.dying = append(a.dying, d.All()[i])
		for n := len(a.dying); n > 0; n = len(a.dying) {
			h := a.dying[n-1]
			a.dying = a.dying[:n-1]
			a.remove(d, h)
		}
	}
	a.tree.closeGaps()
	a.adoptBequests()
}

// remove takes a dying entity out of the relation, and its children from it. A child that is away
// becomes a root, and so do the children of an entity that has left the world.
func (a adapter) remove(d *extend.DyingSet, h handle.Handle) {
	t := a.tree
	if t.look(h) == 0 {
		return
	}
	t.detach(h, a.options.OnChildDeath)
	number := t.own(h)
	if number == 0 {
		return
	}
	if a.options.OnParentDeath == Destroy && !d.Left(h) {
		d.Mark(t.items(number))
		n := len(a.dying)
		t.unlinkChildren(number, &a.dying)
		a.dying = append(a.dying[:n], d.WithoutGuarded(a.dying[n:])...)
	} else {
		t.unlinkChildren(number, nil)
	}
	t.dropList(number)
}

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

// leaveChildren applies the policy to the children of an entity that is removed:
// they go to the grandparent if there is one, or become roots.
func (r *Relation) leaveChildren(h handle.Handle) error {
	t := r.tree
	number := t.own(h)
	if t.list(number).children() == 0 {
		return nil
	}
	switch r.options.OnParentDeath {
	case Destroy, SpareParent:
		return ErrChildren
	case Grandparent:
		r.passOn(h, func(handle.Handle) bool { return false })
	}
	t.steps += t.list(number).children()*adoptSteps + t.list(number).places()
	r.takeBequests()
	t.unlinkChildren(number, nil)
	r.adoptBequests()
	return nil
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

// heirsEvery is at which of the dying ancestors that are climbed their heir is remembered.
const heirsEvery = 16

// forgetHeirs forgets what heir has remembered.
func (r *Relation) forgetHeirs() {
	if len(r.heirs) > heirsKept {
		r.heirs, r.climbed = nil, nil
	}
	clear(r.heirs)
}

// heirsKept is up to how many the memory is kept for the next.
const heirsKept = 1 << 10

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
func (t *tree) adopt(b *bequest) bool {
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
