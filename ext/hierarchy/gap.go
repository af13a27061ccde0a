package hierarchy

import "github.com/atoll-sim/atoll/handle"

// Gap is what becomes of the place that a child leaves.
type Gap uint8

// The kinds of gap. In a fixed list every gap stays a hole.
const (
	// Close moves later children up, in order. O(children), once for any number of children that
	// leave before the list is read.
	Close Gap = iota
	// Hole leaves the place empty: no other child moves. O(1).
	Hole
	// Swap moves the last child in. O(1).
	Swap
)

// String returns the kind as a lower-case word.
func (g Gap) String() string {
	if g > Swap {
		return "unknown"
	}
	return [...]string{"close", "hole", "swap"}[g]
}

// link says where a child is: in the list, at the place.
func (t *Tree) link(child handle.Handle, list uint32, place int) {
	at := t.dir.place(child)
	if n := node(*at); n.hasList() {
		t.touchList(t.number(n))
		t.list(t.number(n))[listLink] = word(t.split.link(list, place))
	} else {
		t.touchNode(child)
		*at = word(child)<<versionShift | word(t.split.link(list, place))
	}
}

// linkOf returns the link of a node to its parent's list, or 0 if it has no parent.
func (t *Tree) linkOf(n node) node {
	if n.hasList() {
		return t.list(t.number(n)).link()
	}
	return n & linkMask
}

// placeIn returns the place of a child in a list. The link has the low bits of it, which are all
// the bits except in huge lists.
func (t *Tree) placeIn(items []handle.Handle, child handle.Handle, link node) int {
	p, round := t.split.place(link), t.split.round()
	if t.list(t.number(link)).is(shifted) {
		return search(items, child, p, round, t.shifts)
	}
	for len(items) > round && items[p] != child {
		p += round
	}
	return p
}

// placeOf returns the place of a child whose list has no open gaps.
func (t *Tree) placeOf(child handle.Handle) int {
	link := t.linkOf(t.look(child))
	return t.placeIn(t.items(t.number(link)), child, link)
}

// detach removes a child from its parent's list, and reports whether it had a parent.
// A child that has a list worth keeping stays in the tree, as a root.
func (t *Tree) detach(child handle.Handle, gap Gap) bool {
	link := t.linkOf(t.look(child))
	if link == 0 {
		return false
	}
	t.leave(child, link, gap)
	t.unlink(child)
	t.trimList(t.number(link))
	return true
}

// unlink forgets a child's link.
func (t *Tree) unlink(child handle.Handle) {
	at := t.dir.place(child)
	if n := node(*at); n.hasList() {
		t.touchList(t.number(n))
		t.list(t.number(n))[listLink] = 0
	} else {
		t.touchNode(child)
		*at = 0
	}
}

// placesSpare is how many gaps are put off in the shortest of lists.
const placesSpare = 64

// leave empties the place of a child. The child's link stays; the caller trims the list afterwards.
func (t *Tree) leave(child handle.Handle, link node, gap Gap) {
	number := t.number(link)
	l := t.list(number)
	if gap == Hole && l.isOpen() {
		t.close(number)
		link = t.linkOf(t.look(child))
	}
	items := t.items(number)
	p := t.placeIn(items, child, link)
	t.steps += len(items) / t.split.round() * linkSteps
	last, holes := len(items)-1, l.hasHoles()
	t.touchPlaces(number, p, p+1)
	items[p] = handle.None
	l[listState] -= childOne
	t.links--
	switch {
	case gap == Close && holes && t.putOff:
		t.gaps = append(t.gaps, gapAt{number, p})
	case gap == Close && holes: // only this gap: the holes stay
		t.touchPlaces(number, p, last+1)
		copy(items[p:], items[p+1:])
		l.setPlaces(last)
		t.shift(number, p)
	case l.is(fixed) || p == last || gap == Hole:
	case gap == Swap:
		t.touchPlaces(number, last, last+1)
		items[p], items[last] = items[last], handle.None
		t.link(items[p], number, p)
	case !l.isOpen():
		l.setOpen()
		t.note(number)
	}
	t.trim(number)
	if l.isOpen() && l.places() > 2*l.children()+placesSpare {
		t.close(number)
	}
}

// trim drops the empty places at the end of a list that is not fixed.
func (t *Tree) trim(number uint32) {
	l := t.list(number)
	if l.is(fixed) {
		return
	}
	items := t.items(number)
	n := len(items)
	for n > 0 && items[n-1] == handle.None {
		n--
	}
	t.touchList(number)
	t.steps += len(items) - n
	l.setPlaces(n)
	if n == l.children() {
		l.unsetOpen()
	}
}

// trimList gives back what a list that lost children no longer needs: its record, its bucket, or
// some of its room. It shrinks the bucket only when one two classes below would do, so that a list
// at the edge of a class does not alternate between two.
func (t *Tree) trimList(number uint32) {
	l := t.list(number)
	switch class := l.class(); {
	case t.keep || l.is(fixed) || t.owners[number] == handle.None: // no list, or it was dropped before
	case l.children() == 0 && !l.is(added):
		t.dropList(number)
	case l.places() == 0:
		t.touchList(number)
		t.freeBucket(l)
	default:
		for t.shrinks(class, l.places()) && t.resize(number, class-1) == nil {
			class--
		}
	}
}
