package hierarchy

import "github.com/atoll-sim/atoll/handle"

// Gap is what becomes of the place that a child leaves.
type Gap uint8

// The kinds of gap. In a fixed list every gap stays a hole.
const (
	// Close moves those behind up, in order. O(children), once for any number of
	// children that leave before somebody looks.
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
		t.list(t.number(n))[listLink] = word(t.split.link(list, place))
	} else {
		*at = word(child)<<versionShift | word(t.split.link(list, place))
	}
}

// linkOf returns the link of a node to its parent's list, or 0.
func (t *Tree) linkOf(n node) node {
	if n.hasList() {
		return t.list(t.number(n)).link()
	}
	return n & linkMask
}

// placeIn returns the place of a child in a list: its link has the low bits, which in
// all but huge lists are all.
func (s split) placeIn(items []handle.Handle, child handle.Handle, link node) int {
	p := s.place(link)
	for round := s.round(); len(items) > round && items[p] != child; {
		p += round
	}
	return p
}

// detach takes a child out of its parent's list. With a list of its own that is
// worth keeping it stays in the tree, as a root. Whoever has no parent is left as
// they are.
func (t *Tree) detach(child handle.Handle, gap Gap) {
	n := t.look(child)
	link := t.linkOf(n)
	if link == 0 {
		return
	}
	t.leave(t.number(link), child, link, gap)
	t.unlink(child)
	t.trimList(t.number(link))
}

// unlink forgets a child's link.
func (t *Tree) unlink(child handle.Handle) {
	at := t.dir.place(child)
	if n := node(*at); n.hasList() {
		t.list(t.number(n))[listLink] = 0
	} else {
		*at = 0
	}
}

// leave empties the place of a child. The list is to be tidied after.
func (t *Tree) leave(number uint32, child handle.Handle, link node, gap Gap) {
	l := t.list(number)
	if gap == Close && l.is(holes) {
		t.leaveAmongHoles(number, child, link)
		return
	}
	if gap == Hole && l.isOpen() {
		t.close(number)
		link = t.linkOf(t.look(child))
	}
	items := t.items(number)
	p := t.split.placeIn(items, child, link)
	items[p] = handle.None
	l[listState] -= childOne
	t.links--
	switch {
	case l.is(fixed) || p == len(items)-1:
	case gap == Swap:
		last := len(items) - 1
		items[p], items[last] = items[last], handle.None
		t.link(items[p], number, p)
	case gap == Hole:
		l.set(holes)
	case !l.isOpen():
		l.setOpen()
		if !l.is(noted) {
			l.set(noted)
			t.open = append(t.open, number)
		}
	}
	t.trim(number)
	if l.isOpen() && l.places() > 2*l.children()+placesSpare {
		t.close(number)
	}
}

// placesSpare is how many gaps are put off in the shortest of lists.
const placesSpare = 64

// leaveAmongHoles closes the gap of one child and leaves the holes that are
// there.
func (t *Tree) leaveAmongHoles(number uint32, child handle.Handle, link node) {
	l := t.list(number)
	items := t.items(number)
	p := t.split.placeIn(items, child, link)
	l[listState] -= childOne
	t.links--
	copy(items[p:], items[p+1:])
	l.setPlaces(len(items) - 1)
	t.renumber(number, p)
	t.trim(number)
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
	l.setPlaces(n)
	if n == l.children() {
		l.unset(holes)
		l.unsetOpen()
	}
}

// renumber tells the children from a place on where they are.
func (t *Tree) renumber(number uint32, from int) {
	items := t.items(number)
	for p := from; p < len(items); p++ {
		if items[p] != handle.None {
			t.link(items[p], number, p)
		}
	}
}

// close moves the children of a list up over its gaps and holes, in order. In a
// fixed list the free places are then the last.
func (t *Tree) close(number uint32) {
	l := t.list(number)
	items := t.items(number)
	to := 0
	for p, child := range items {
		if child == handle.None {
			continue
		}
		if to != p {
			items[to] = child
			t.link(child, number, to)
		}
		to++
	}
	clear(items[to:])
	l.unset(holes)
	l.unsetOpen()
	t.trim(number)
}

// trimList gives back what a list that lost children needs no more.
func (t *Tree) trimList(number uint32) {
	l := t.list(number)
	switch {
	case l.is(fixed):
	case l.children() == 0 && !l.is(added) && !t.keep:
		if t.owners[number] != handle.None { // else it was dropped before
			t.dropList(number)
		}
	default:
		t.shrink(number)
	}
}

// trimListOf is tidy for the list of an entity, if it has one.
func (t *Tree) trimListOf(h handle.Handle) {
	if n := t.look(h); n.hasList() {
		t.trimList(t.number(n))
	}
}

// Settle closes all gaps whose closing was put off. After it, and until the next
// change, reading writes nothing.
func (t *Tree) Settle() {
	for _, number := range t.open {
		l := t.list(number)
		l.unset(noted)
		if l.isOpen() {
			t.close(number)
			t.trimList(number)
		}
	}
	t.open = t.open[:0]
}

// closed returns the places of a list after closing its gaps.
func (t *Tree) closed(number uint32) []handle.Handle {
	t.close(number)
	return t.items(number)
}

// settled returns a list after closing its gaps, if any.
func (t *Tree) settled(number uint32) *list {
	l := t.list(number)
	if l.isOpen() {
		t.close(number)
	}
	return l
}
