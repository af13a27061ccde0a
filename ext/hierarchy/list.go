package hierarchy

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/paged"
)

// split is how the bits of a link are divided between list and place. With few
// parents place has many bits. Then it is the whole place, which is found without a search,
// however many children there are.
type split struct {
	lists node // the mask of a list's number
	shift uint8
}

// splitFor returns the split of a tree with so many records of lists.
func splitFor(records int) split {
	n := max(listBitsMin, bits.Len(uint(records-1)))
	return split{lists: 1<<n - 1, shift: uint8(listShift + n)}
}

// link is the link of a child at a place of a list.
func (s split) link(list uint32, place int) node {
	return (node(place)<<(s.shift&63) | node(list)<<listShift) & linkMask
}

// place returns what a link says of the place: its low bits.
func (s split) place(link node) int { return int(link & linkMask >> (s.shift & 63)) }

// round is the distance of two places with the same low bits.
func (s split) round() int { return 1 << (versionShift - s.shift) }

// list is the record of an entity's children, in three words. Its owner is in tree.owners, by
// number, because looking up a parent needs only the owner.
//
//	link                           the owner's own, to its parent; 0 for a root. In a
//	                               free record, the number of the next free one
//	start 32 | open 1 | places 31  where its bucket is; whether it has gaps to be
//	                               closed up; how many places are in use
//	children 32 | flags | class 8  how many places are taken; the bucket's class
//
// Invariants: a record has a bucket if it has places. The last place of a list
// that is not fixed is taken. An empty place is a gap in an open list, and a hole, which stays, in
// any other. An open list is not fixed, and has gaps. Record 0 is that of an
// empty list without an owner.
type list [listWords]word

const listWords = 3

const (
	listLink = iota
	listSpan
	listState
)

// flags of a list.
const (
	added   word = 1 << (8 + iota) // the entity stays in the tree when it has no children
	fixed                          // the number of places does not change by itself
	noted                          // it is in tree.open; a free record may have it, too
	shifted                        // children may be some places away from where their links say
)

// open is the bit in the span of a list that says that it has gaps, which are
// to be closed. It is there, and not among the flags, so that reading the
// children takes one word.
const open word = 1 << 31

const (
	classMask = 1<<8 - 1
	noBucket  = classMask

	childOne = 1 << 32 // one child, in the state word
)

func (l *list) link() node { return node(l[listLink]) }

func (l *list) start() int { return int(l[listSpan] >> 32) }

func (l *list) places() int { return int(l[listSpan] & (open - 1)) }

func (l *list) isOpen() bool { return l[listSpan]&open != 0 }

func (l *list) setOpen() { l[listSpan] |= open }

func (l *list) unsetOpen() { l[listSpan] &^= open }

func (l *list) children() int { return int(l[listState] >> 32) }

func (l *list) class() int { return int(l[listState] & classMask) }

func (l *list) is(flag word) bool { return l[listState]&flag != 0 }

func (l *list) set(flag word) { l[listState] |= flag }

func (l *list) unset(flag word) { l[listState] &^= flag }

func (l *list) setPlaces(n int) { l[listSpan] = l[listSpan]&^(open-1) | word(n) }

// hasHoles reports whether a list that is not fixed has holes.
func (l *list) hasHoles() bool { return !l.is(fixed) && !l.isOpen() && l.children() < l.places() }

func (l *list) setBucket(start, class int) {
	l[listSpan] = word(start)<<32 | l[listSpan]&(1<<32-1)
	l[listState] = l[listState]&^classMask | word(class)
}

// reset makes the record that of an empty list without a bucket.
func (l *list) reset(link word) { *l = list{link, 0, l[listState]&noted | noBucket} }

// look returns the node of h, or 0 if the tree does not have h. It is small enough
// to be inlined.
func (t *tree) look(h handle.Handle) node {
	if home := h >> paged.HomeShift; home < handle.Handle(len(t.dir.Homes)) { // At, which would be too much
		table := t.dir.Homes[home]
		if i := h >> paged.PageShift % paged.PagesMax; i < handle.Handle(len(table)) && table[i] != nil {
			if n := node(table[i][h>>handle.VersionBits%pageSize]); n>>versionShift == node(h&handle.VersionMax) {
				return n
			}
		}
	}
	return 0
}

// node returns where to write the node of h.
func (t *tree) node(h handle.Handle) (*word, error) {
	if h.Version() == 0 {
		return nil, ErrAbsent // None, and values that were never a handle
	}
	at := t.dir.At(h)
	if at == nil {
		if len(t.block) == 0 {
			if t.manual {
				return nil, ErrRoom
			}
			t.block = make([]word, pageSize)
		}
		t.dir.Put(h, (*page)(t.block))
		t.block = t.block[pageSize:]
		at = t.dir.At(h)
	}
	if n := node(*at); n != 0 && n>>versionShift != node(h&handle.VersionMax) {
		return nil, errVersion
	}
	return at, nil
}

// number returns the number of the list that a node or a link names, or 0.
func (t *tree) number(n node) uint32 { return uint32(n >> listShift & t.split.lists) }

// own returns the list of an entity, or 0.
func (t *tree) own(h handle.Handle) uint32 {
	if n := t.look(h); n.hasList() {
		return t.number(n)
	}
	return 0
}

// listed returns the list of an entity, or 0 if it has none, or one that only keeps capacity.
func (t *tree) listed(h handle.Handle) uint32 {
	number := t.own(h)
	if l := t.list(number); l.children() == 0 && !l.is(added|fixed) {
		return 0
	}
	return number
}

// listOf returns the list of h. It makes one if h has none.
func (t *tree) listOf(h handle.Handle) (uint32, error) {
	if n := t.own(h); n != 0 {
		return n, nil
	}
	at, err := t.node(h)
	if err != nil {
		return 0, err
	}
	n := t.freeList
	if n == 0 {
		if n, err = t.newRecord(); err != nil {
			return 0, err
		}
	} else {
		t.freeList = uint32(t.list(n)[listLink])
	}
	t.touchList(n)
	t.touchNode(h)
	t.owners[n] = h
	t.list(n).reset(*at & linkMask)
	*at = word(h)<<versionShift | word(owning(n))
	return n, nil
}

// list returns a record by number.
func (t *tree) list(n uint32) *list { return (*list)(t.records[n*listWords:]) }

// items returns the places of a list, including holes.
func (t *tree) items(number uint32) []handle.Handle {
	l := t.list(number)
	from, n := l.start(), l.places()
	return t.bucket(from, n)
}

// newRecord adds a record.
func (t *tree) newRecord() (uint32, error) {
	n := len(t.owners)
	switch {
	case n > ParentsMax:
		return 0, ErrLimit
	case t.manual && t.recordsFull():
		return 0, ErrRoom
	}
	if by := splitFor(n + 1); by.shift > t.split.shift {
		t.divide(by)
	}
	t.owners = append(t.owners, handle.None)
	t.records = append(t.records, 0, 0, noBucket)
	return uint32(n), nil
}

// recordsFull reports whether another record needs memory.
func (t *tree) recordsFull() bool {
	return len(t.owners) == cap(t.owners) || len(t.records)+listWords > cap(t.records)
}

// divide converts the links to another split, with fewer bits for the place.
// Owners' nodes have no place. O(entities), once for each doubling of more than 65,536
// parents.
func (t *tree) divide(by split) {
	was := t.split
	t.split = by
	t.changes = nil
	again := func(n node) node { return n&^linkMask | by.link(uint32(n>>listShift&was.lists), was.place(n)) }
	for _, p := range t.dir.All {
		for i, w := range p {
			if n := node(w); !n.hasList() {
				p[i] = word(again(n))
			}
		}
	}
	for n, owner := range t.owners {
		if owner != handle.None {
			l := t.list(uint32(n))
			l[listLink] = word(again(l.link()))
		}
	}
}

// dropList frees the record of an entity without children, and its bucket. The
// entity stays in the tree if it has a parent.
func (t *tree) dropList(n uint32) {
	l := t.list(n)
	h, link := t.owners[n], l.link()
	t.touchList(n)
	t.touchNode(h)
	t.owners[n] = handle.None
	t.freeBucket(l)
	l.reset(word(t.freeList))
	t.freeList = n
	at := t.dir.At(h)
	if *at = 0; link != 0 {
		*at = word(h)<<versionShift | word(link)
	}
}

// link says where a child is: in the list, at the place.
func (t *tree) link(child handle.Handle, list uint32, place int) {
	t.setLink(child, t.split.link(list, place))
}

// unlink forgets a child's link.
func (t *tree) unlink(child handle.Handle) { t.setLink(child, 0) }

// setLink writes a child's link, or 0 for none, into the record of its own list or into its node.
func (t *tree) setLink(child handle.Handle, link node) {
	at := t.dir.At(child)
	if n := node(*at); n.hasList() {
		t.touchList(t.number(n))
		t.list(t.number(n))[listLink] = word(link)
		return
	}
	t.touchNode(child)
	if *at = 0; link != 0 {
		*at = word(child)<<versionShift | word(link)
	}
}

// linkOf returns the link of a node to its parent's list, or 0 if it has no parent.
func (t *tree) linkOf(n node) node {
	if n.hasList() {
		return t.list(t.number(n)).link()
	}
	return n & linkMask
}

// placeOf returns the place of a child whose list has no open gaps.
func (t *tree) placeOf(child handle.Handle) int {
	link := t.linkOf(t.look(child))
	return t.placeIn(t.items(t.number(link)), child, link)
}

// placeIn returns the place of a child in a list. The link has the low bits of it, which are all
// the bits except in huge lists.
func (t *tree) placeIn(items []handle.Handle, child handle.Handle, link node) int {
	p, round := t.split.place(link), t.split.round()
	if t.list(t.number(link)).is(shifted) {
		return search(items, child, p, round, t.shifts)
	}
	for len(items) > round && items[p] != child {
		p += round
	}
	return p
}

// search returns the place of a child that is at most so many places away from the place of its
// link, or from one with the same low bits.
func search(items []handle.Handle, child handle.Handle, place, round, away int) int {
	for ; ; place += round {
		from := max(0, place-away)
		if i := slices.Index(items[from:min(place+away+1, len(items))], child); i >= 0 {
			return from + i
		}
	}
}

// detach removes a child from its parent's list, and reports whether it had a parent.
// A child that has a list worth keeping stays in the tree, as a root.
func (t *tree) detach(child handle.Handle, gap Gap) bool {
	link := t.linkOf(t.look(child))
	if link == 0 {
		return false
	}
	t.leave(child, link, gap)
	t.unlink(child)
	t.trimList(t.number(link))
	return true
}

// leave empties the place of a child. The child's link stays; the caller trims the list afterwards.
func (t *tree) leave(child handle.Handle, link node, gap Gap) {
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

// placesSpare is how many gaps are put off in the shortest of lists.
const placesSpare = 64

// trim drops the empty places at the end of a list that is not fixed.
func (t *tree) trim(number uint32) {
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
func (t *tree) trimList(number uint32) {
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

// What follows changes leaves, children that are no parents, in the usual case, in which nothing has
// to be allocated or given back. Each function reports whether this was the usual case; if not, it
// did nothing. In a large tree such a change waits for memory, because the nodes of children are
// scattered. So no branch depends on memory that is still being loaded, and the processor begins
// the next change before this one is done.

// behind returns the list of an entity and its memory, if there is room after
// the last child.
func (t *tree) behind(parent handle.Handle) (number uint32, l *list, words []word) {
	number = t.own(parent)
	l = t.list(number)
	if class := l.class(); class == noBucket || l.places() >= t.classes.size(class) || l.is(fixed) {
		return 0, nil, nil
	}
	return number, l, t.bucket(l.start(), l.places()+1)
}

// append is AddChild for a child that is not in the tree and a list that has room.
func (t *tree) append(parent, child handle.Handle) bool {
	at := t.dir.At(child)
	number, l, words := t.behind(parent)
	if l == nil || at == nil || *at != 0 || child == parent || child.Version() == 0 {
		return false
	}
	t.putLast(at, child, number, l, words)
	return true
}

// putLast puts a child, whose node is at, after the last of a list that has room.
func (t *tree) putLast(at *word, child handle.Handle, number uint32, l *list, words []word) {
	place := l.places()
	t.touchPlaces(number, place, place+1)
	t.touchNode(child)
	words[place] = child
	l[listSpan]++ // one more place
	l[listState] += childOne
	t.links++
	*at = word(child)<<versionShift | word(t.split.link(number, place))
}

// swapRemove is RemoveChild with a swap, in a list without gaps that keeps its size.
func (t *tree) swapRemove(child handle.Handle) bool {
	was := t.dir.At(child)
	if was == nil {
		return false
	}
	n := node(*was)
	number := t.number(n)
	if n.hasList() || number == 0 || n>>versionShift != node(child&handle.VersionMax) {
		return false
	}
	l := t.list(number)
	places := l.places()
	if l.children() != places || l.is(fixed|shifted) || !t.keep && (places == 1 || t.shrinks(l.class(), places-1)) {
		return false
	}
	items := t.bucket(l.start(), places)
	last := items[places-1]
	at := t.dir.At(last)
	moved := node(*at)
	if moved.hasList() {
		return false
	}
	place := t.placeIn(items, child, n)
	t.touchPlaces(number, place, place+1)
	t.touchPlaces(number, places-1, places)
	t.touchNode(child)
	t.touchNode(last)
	items[place], items[places-1] = last, handle.None
	*at = word(moved&^linkMask | n&linkMask) // its new link is that of the child
	*was = 0                                 // after the line above, because the child may be the last itself
	l[listSpan]--                            // one place less
	l[listState] -= childOne
	t.links--
	return true
}

// moveAppend is a move with a swap, to the end of a list, which may be the list that the child
// leaves.
func (t *tree) moveAppend(child, parent handle.Handle) bool {
	number, l, words := t.behind(parent)
	if l == nil || !t.swapRemove(child) {
		return false
	}
	t.putLast(t.dir.At(child), child, number, l, words)
	return true
}

// Settle closes all gaps whose closing was put off, and corrects all links. After it, and until the
// next change, reading writes nothing.
func (t *tree) Settle() {
	for _, number := range t.open {
		l := t.list(number)
		l.unset(noted)
		from := l.places()
		opened := l.isOpen()
		if opened {
			from, _, _ = t.moveUp(number)
		}
		if l.is(shifted) {
			from = 0
		}
		t.renumber(number, from)
		if opened {
			t.trimList(number)
		}
	}
	t.open, t.shifts = t.open[:0], 0
}

// When children move to other places, their links are corrected at once in a short list. In a long
// one that waits until the list is settled, or until children may be shiftsMax places away from
// where their links say. So a child that is inserted into a long list costs one copy of the places
// behind it, which takes far less than to look up each of these children.
//
// Steps measure what a change costs. A step takes about a nanosecond, in the worst case: a place
// that is copied, cleared or searched is one.
const (
	linkSteps  = 96 // a link that is climbed
	childSteps = 16 // a child whose link is corrected
	newSteps   = 32 // a place of a bucket that a list gets
	adoptSteps = 64 // a child that goes to its grandparent
	shortList  = 64
	shiftsMax  = 1 << 10
)

// gapAt is a place that a child has left.
type gapAt struct {
	list  uint32
	place int
}

// note makes Settle look at a list.
func (t *tree) note(number uint32) {
	if l := t.list(number); !l.is(noted) {
		l.set(noted)
		t.open = append(t.open, number)
		t.steps += l.places() * childSteps
	}
}

// shift corrects the links of the children from a place on, which have all moved by one, or puts
// it off.
func (t *tree) shift(number uint32, from int) {
	l := t.list(number)
	n := l.places() - from
	t.steps += n
	if n <= shortList {
		t.steps += n * childSteps
		t.renumber(number, from)
		return
	}
	if t.shifts == shiftsMax {
		t.renumberShifted()
	}
	t.shifts++
	t.note(number)
	l.set(shifted)
}

// renumberShifted corrects all links.
func (t *tree) renumberShifted() {
	for _, number := range t.open {
		if l := t.list(number); l.is(shifted) {
			t.steps += l.places() * childSteps
			t.renumber(number, 0)
		}
	}
	t.shifts = 0
}

// renumber corrects the links of the children from a place on.
func (t *tree) renumber(number uint32, from int) {
	items := t.items(number)
	for p := from; p < len(items); p++ {
		if items[p] != handle.None {
			t.link(items[p], number, p)
		}
	}
	if from == 0 {
		t.list(number).unset(shifted)
	}
}

// settled returns a list after closing its gaps, if any.
func (t *tree) settled(number uint32) *list {
	l := t.list(number)
	if l.isOpen() {
		t.close(number)
	}
	return l
}

// close moves the children of a list up over its gaps and holes, in order. In a
// fixed list the free places are last then.
func (t *tree) close(number uint32) {
	l := t.list(number)
	first, to, gaps := t.moveUp(number)
	switch {
	case to == first:
	case to-first > shortList && gaps <= shiftsMax-t.shifts:
		t.shifts += gaps
		t.note(number)
		l.set(shifted)
	default:
		t.steps += (to - first) * childSteps
		t.renumber(number, first)
	}
}

// closed returns the places of a list after closing its gaps.
func (t *tree) closed(number uint32) []handle.Handle {
	t.close(number)
	return t.items(number)
}

// moveUp is close without correcting links. The children from a place on to before another have
// moved, by so many places at most.
func (t *tree) moveUp(number uint32) (first, to, gaps int) {
	items := t.items(number)
	t.touchPlaces(number, 0, len(items))
	t.steps += 2 * len(items)
	if first = slices.Index(items, handle.None); first < 0 {
		return 0, 0, 0
	}
	to = first
	for _, child := range items[first:] {
		if child != handle.None {
			items[to] = child
			to++
		}
	}
	clear(items[to:])
	t.list(number).unsetOpen()
	t.trim(number)
	return first, to, len(items) - to
}

// closeGaps closes the gaps that were put off. Holes in the same lists stay.
func (t *tree) closeGaps() {
	t.putOff = false
	slices.SortFunc(t.gaps, func(a, b gapAt) int {
		return cmp.Or(cmp.Compare(a.list, b.list), cmp.Compare(a.place, b.place))
	})
	for rest := t.gaps; len(rest) > 0; {
		number, to := rest[0].list, rest[0].place
		items := t.items(number) // none if the list was dropped
		t.touchPlaces(number, min(to, len(items)), len(items))
		for p := to; p < len(items); p++ {
			if len(rest) > 0 && rest[0] == (gapAt{number, p}) {
				rest = rest[1:]
				continue
			}
			if items[to] = items[p]; items[to] != handle.None {
				t.link(items[to], number, to)
			}
			to++
		}
		for len(rest) > 0 && rest[0].list == number {
			rest = rest[1:] // beyond the places that are left
		}
		if to < len(items) {
			clear(items[to:])
			t.list(number).setPlaces(to)
			t.trim(number)
			t.trimList(number)
		}
	}
	t.gaps = t.gaps[:0]
}
