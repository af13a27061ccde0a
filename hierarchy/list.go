package hierarchy

import "github.com/atoll-sim/atoll/handle"

// list is the record of an entity's children, in three words. Whose it is stands
// apart, by number, in Tree.owners: looking up a parent needs that alone.
//
//	link                           the owner's own, to its parent; 0 for a root
//	start 32 | open 1 | places 31  where its bucket is; whether it has gaps to be
//	                               closed up; how many places are in use
//	children 32 | flags | class 8  how many places are taken; the bucket's class
//
// Invariants: a record has a bucket if it has places. The last place of a list
// that is not fixed is taken. Without holes or gaps, all are.
type list [listWords]word

const listWords = 3

const (
	listLink = iota
	listSpan
	listState
)

// flags of a list.
const (
	added word = 1 << (8 + iota) // stays when it has no children
	fixed                        // the number of places does not change by itself
	holes                        // places were left empty, to stay so
	noted                        // for note alone
)

// open is the bit of the span of a list in which places were left empty that are
// to be closed up. It stands there, and not among the flags, so that reading the
// children takes one word.
const open word = 1 << 31

const (
	classMask = 1<<8 - 1
	noBucket  = classMask

	childOne = 1 << 32 // one child in the state
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

func (l *list) setBucket(start, class int) {
	l[listSpan] = word(start)<<32 | l[listSpan]&(1<<32-1)
	l[listState] = l[listState]&^classMask | word(class)
}

const (
	listPageBits  = 6
	listPageSize  = 1 << listPageBits
	listPageWords = listPageSize * listWords
)

// listPage is 64 records of lists of one home.
type listPage [listPageWords]word

type listRef struct {
	page  *listPage
	arena *arena
}

const listRefBytes = 2 * pageRefBytes

// list returns a record by number.
func (t *Tree) list(n uint32) *list {
	p := t.lists[n>>listPageBits].page
	return (*list)(p[n%listPageSize*listWords:])
}

// arenaOf returns the arena that a list is in.
func (t *Tree) arenaOf(number uint32) *arena { return t.lists[number>>listPageBits].arena }

// items returns the places of a list, holes among them.
func (t *Tree) items(number uint32) []handle.Handle {
	l := t.list(number)
	from, n := l.start(), l.places()
	return t.arenaOf(number).words[from : from+n : from+n]
}

// newList gives h, which has no list, a record.
func (t *Tree) newList(h handle.Handle) (uint32, error) {
	at, err := t.node(h)
	if err != nil {
		return 0, err
	}
	a, err := t.arena(h.Shard())
	if err != nil {
		return 0, err
	}
	if a.freeList == 0 {
		if err := t.newListPage(a); err != nil {
			return 0, err
		}
	}
	n := a.freeList
	l := t.list(n)
	a.freeList = uint32(l[listLink])
	t.owners[n] = h
	*l = list{0, 0, noBucket}
	if old := t.look(h); old != 0 {
		l[listLink] = word(old & linkMask)
	}
	*at = word(h)<<versionShift | word(owning(n))
	return n, nil
}

// newListPage adds 64 free records to an arena, to be given in ascending order.
func (t *Tree) newListPage(a *arena) error {
	if len(t.lists) > ParentsMax>>listPageBits {
		return ErrLimit
	}
	number := len(t.lists)
	if err := t.growOwners(); err != nil {
		return err
	}
	block, err := t.take(listPageWords)
	if err != nil {
		return err
	}
	if by := splitFor(number + 1); by.shift > t.split.shift {
		t.divide(by)
	}
	t.lists = append(t.lists, listRef{(*listPage)(block), a})
	t.show()
	for i := listPageSize - 1; i >= 0; i-- {
		n := uint32(number<<listPageBits + i)
		if n == 0 {
			break // list 0 is none
		}
		*t.list(n) = list{word(a.freeList), 0, noBucket}
		a.freeList = n
	}
	return nil
}

// growOwners makes room for the owners of one more page.
func (t *Tree) growOwners() error {
	n := (len(t.lists) + 1) * listPageSize
	if n > cap(t.owners) {
		if t.manual {
			return ErrRoom
		}
		t.owners = append(make([]handle.Handle, 0, n*growNumerator/growDenominator), t.owners...)
	}
	t.owners = t.owners[:n]
	return nil
}

// dropList takes the record of an entity without children, and its bucket. The
// entity stays in the tree if it has a parent.
func (t *Tree) dropList(n uint32) {
	l := t.list(n)
	h, link := t.owners[n], l.link()
	a := t.arenas[h.Shard()]
	t.owners[n] = handle.None
	t.freeBucket(a, l)
	*l = list{word(a.freeList), 0, noBucket}
	a.freeList = n
	at := t.dir.place(h)
	if *at = 0; link != 0 {
		*at = word(h)<<versionShift | word(link)
	}
}
