package hierarchy

import "github.com/atoll-sim/atoll/handle"

// list is the record of an entity's children, in three words. Its owner is in Tree.owners, by
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
	noted                          // it is in Tree.open; a free record may have it, too
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

func (l *list) link() node        { return node(l[listLink]) }
func (l *list) start() int        { return int(l[listSpan] >> 32) }
func (l *list) places() int       { return int(l[listSpan] & (open - 1)) }
func (l *list) isOpen() bool      { return l[listSpan]&open != 0 }
func (l *list) setOpen()          { l[listSpan] |= open }
func (l *list) unsetOpen()        { l[listSpan] &^= open }
func (l *list) children() int     { return int(l[listState] >> 32) }
func (l *list) class() int        { return int(l[listState] & classMask) }
func (l *list) is(flag word) bool { return l[listState]&flag != 0 }
func (l *list) set(flag word)     { l[listState] |= flag }
func (l *list) unset(flag word)   { l[listState] &^= flag }
func (l *list) setPlaces(n int)   { l[listSpan] = l[listSpan]&^(open-1) | word(n) }

// hasHoles reports whether a list that is not fixed has holes.
func (l *list) hasHoles() bool { return !l.is(fixed) && !l.isOpen() && l.children() < l.places() }

func (l *list) setBucket(start, class int) {
	l[listSpan] = word(start)<<32 | l[listSpan]&(1<<32-1)
	l[listState] = l[listState]&^classMask | word(class)
}

// reset makes the record that of an empty list without a bucket.
func (l *list) reset(link word) { *l = list{link, 0, l[listState]&noted | noBucket} }

// list returns a record by number.
func (t *Tree) list(n uint32) *list { return (*list)(t.records[n*listWords:]) }

// items returns the places of a list, including holes.
func (t *Tree) items(number uint32) []handle.Handle {
	l := t.list(number)
	from, n := l.start(), l.places()
	return t.bucket(from, n)
}

// own returns the list of an entity, or 0.
func (t *Tree) own(h handle.Handle) uint32 {
	if n := t.look(h); n.hasList() {
		return t.number(n)
	}
	return 0
}

// listOf returns the list of h. It makes one if h has none.
func (t *Tree) listOf(h handle.Handle) (uint32, error) {
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

// newRecord adds a record.
func (t *Tree) newRecord() (uint32, error) {
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
func (t *Tree) recordsFull() bool {
	return len(t.owners) == cap(t.owners) || len(t.records)+listWords > cap(t.records)
}

// dropList frees the record of an entity without children, and its bucket. The
// entity stays in the tree if it has a parent.
func (t *Tree) dropList(n uint32) {
	l := t.list(n)
	h, link := t.owners[n], l.link()
	t.touchList(n)
	t.touchNode(h)
	t.owners[n] = handle.None
	t.freeBucket(l)
	l.reset(word(t.freeList))
	t.freeList = n
	at := t.dir.place(h)
	if *at = 0; link != 0 {
		*at = word(h)<<versionShift | word(link)
	}
}
