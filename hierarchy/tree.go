package hierarchy

import "github.com/atoll-sim/atoll/handle"

// Tree holds who is whose child: a forest over handles, each entity with one
// parent at the most and its children in order. It knows nothing of a world: who
// is alive is its user's affair. Relation is a Tree on a world.
//
//	look-up   handle ─▶ page of nodes ─▶ list ─▶ bucket
//
// Looking up a parent or a list of children is O(1), as are adding, and removing
// with a hole or by moving the last in. Closing a gap in order is O(children); it
// is put off until somebody looks at that list, so any number of removals cost it
// once.
//
// Invariants: a child is in one place of one list, which its node names; there is
// no cycle; a list's record, bucket and owner's node name each other.
//
// Ownership: one goroutine at a time, readings through its Readers included. After
// Settle, and until the next change, any number may read, each with a Reader of
// its own.
type Tree struct {
	dir      directory
	split    split
	records  []word          // of lists, by number
	owners   []handle.Handle // by number of list; None for a free one
	freeList uint32          // the first free record, or 0
	words    []word          // buckets
	free     []uint32        // by class: where the first free bucket is, plus 1
	classes  classes
	block    []word   // what is left of a reserve, for pages of nodes
	open     []uint32 // lists that may have gaps, each once
	links    int      // children
	path     []handle.Handle
	keep     bool
	manual   bool
	reader   Reader
}

// TreeOptions shape a tree. The zero value means the defaults.
type TreeOptions struct {
	// Buckets are the sizes of buckets, ascending: how many children one holds.
	// A list that outgrows the largest goes to buckets of twice its size, and so
	// on. The default goes up by halves from 4.
	Buckets []int
	// KeepCapacity leaves a list its bucket when children are removed.
	KeepCapacity bool
	// ManualGrowth makes the tree never allocate by itself: what needs more room
	// than was reserved is refused with ErrRoom.
	ManualGrowth bool
	// Reserve is room to begin with, as of Tree.Reserve.
	Reserve Room
}

// NewTree makes an empty tree. It panics if the sizes of buckets are not
// ascending or less than 1.
func NewTree(o TreeOptions) *Tree {
	c := o.classes()
	t := &Tree{
		split: splitFor(1), records: []word{0, 0, noBucket}, owners: []handle.Handle{handle.None},
		classes: c, free: make([]uint32, c.count()), keep: o.KeepCapacity,
	}
	t.reader.tree = t
	t.Reserve(o.Reserve)
	t.manual = o.ManualGrowth
	return t
}

// Links returns the number of children: entities that have a parent.
func (t *Tree) Links() int { return t.links }

// node returns where the node of h is to be written.
func (t *Tree) node(h handle.Handle) (*word, error) {
	if h.Version() == 0 {
		return nil, ErrAbsent // None, and what never was a handle
	}
	at := t.dir.place(h)
	if at == nil {
		if len(t.block) == 0 {
			if t.manual {
				return nil, ErrRoom
			}
			t.block = make([]word, pageSize)
		}
		t.dir.add(h, (*page)(t.block))
		t.block = t.block[pageSize:]
		at = t.dir.place(h)
	}
	if n := node(*at); n != 0 && n>>versionShift != node(h&handle.VersionMax) {
		return nil, ErrVersion
	}
	return at, nil
}

// has reports whether a node's entity is in the tree: it may be there but for the
// capacity that it keeps.
func (t *Tree) has(n node) bool {
	if !n.hasList() {
		return n != 0
	}
	return t.list(t.number(n)).link() != 0 || t.listed(n)
}

// listed reports whether a node's entity has a list but for the capacity of one.
func (t *Tree) listed(n node) bool {
	return n.hasList() && (t.list(t.number(n)).children() > 0 || t.list(t.number(n)).is(added|fixed))
}

// Add puts an entity in the tree, as a root. It stays until it is removed, with
// or without children; an entity that was not added is in the tree for as long as
// it has a parent or children. Adding again is no error.
func (t *Tree) Add(h handle.Handle) error {
	n, err := t.listOf(h)
	if err == nil {
		t.list(n).set(added)
	}
	return err
}

// Remove takes an entity out of its parent, where what gap says becomes of its
// place, and out of the tree. It returns ErrChildren if it has children, ErrAbsent
// if it is not there.
func (t *Tree) Remove(h handle.Handle, gap Gap) error {
	n := t.look(h)
	if n.hasList() && t.list(t.number(n)).children() > 0 {
		return ErrChildren
	}
	had := t.has(n)
	t.erase(h, gap)
	if !had {
		return ErrAbsent
	}
	return nil
}

// erase forgets an entity without children.
func (t *Tree) erase(h handle.Handle, gap Gap) {
	t.detach(h, gap)
	if n := t.look(h); n.hasList() {
		t.dropList(t.number(n))
	}
}

// RemoveBranch takes an entity and all of its descendants out of the tree. It
// returns ErrAbsent if the entity is not there.
func (t *Tree) RemoveBranch(h handle.Handle, gap Gap) error {
	had := t.has(t.look(h))
	for at := h; ; {
		n := t.look(at)
		if n.hasList() {
			if l := t.list(t.number(n)); l.children() > 0 {
				l.unset(fixed)
				t.trim(t.number(n))
				at = t.items(t.number(n))[l.places()-1]
				continue
			}
		}
		if at == h {
			break
		}
		up := t.parent(at)
		t.erase(at, Hole)
		at = up
	}
	t.erase(h, gap)
	if !had {
		return ErrAbsent
	}
	return nil
}

// expect makes room for so many more children of an entity.
func (t *Tree) expect(parent handle.Handle, children int) error {
	number, err := t.listOf(parent)
	if err != nil {
		return err
	}
	if l := t.list(number); !l.is(fixed) {
		err = t.makeRoom(number, l.places()+children)
	}
	if err != nil {
		t.trimList(number)
	}
	return err
}

// entities yields whom the tree has.
func (t *Tree) entities(yield func(handle.Handle) bool) {
	for first, p := range t.dir.each {
		for i, w := range p {
			if n := node(w); n != 0 && !yield(handleAt(first, i, n)) {
				return
			}
		}
	}
}
