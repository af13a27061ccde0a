package hierarchy

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

// Tree is a forest of handles. Each entity has at most one parent, and its
// children are in order. A Tree has no world and does not know which entities are alive. Relation
// is a Tree for a world.
//
//	look-up   handle ─▶ page of nodes ─▶ list ─▶ bucket
//
// Looking up a parent or a list of children is O(1), and so are adding, and removing
// with a hole or by moving the last in. Closing a gap in order is O(children). It
// is put off until that list is read, so any number of removals cost it
// once.
//
// Invariants: a child is in one place of one list, which its node names; there is
// no cycle; a list's record, bucket and owner's node name each other.
//
// Ownership: one goroutine at a time, even for reading through Readers. After
// Settle, and until the next change, any number of goroutines may read, each with its own
// Reader.
type Tree struct {
	dir      directory
	split    split
	records  []word          // of lists, by number
	owners   []handle.Handle // by number of list; None for a free one
	freeList uint32          // the first free record, or 0
	arenas                   // of buckets
	free     []uint32        // by class: the first free bucket, or 0
	classes  classes
	block    []word   // what is left of a Reserve, for pages of nodes
	open     []uint32 // lists that may have gaps, or links to correct, each once
	shifts   int      // by how many places children of shifted lists may be away
	gaps     []gapAt  // to be closed by closeGaps, while putOff is set
	putOff   bool
	links    int // children
	steps    int // what changes have cost; see linkSteps
	stepsMax int // at how many a climb gives up, or 0
	path     []handle.Handle
	omitted  int // between the two halves of path
	keep     bool
	manual   bool
	reader   Reader
	changes  *changes // nil unless there are copies of the tree
}

// TreeOptions shape a tree. The zero value means the defaults.
type TreeOptions struct {
	// Buckets are the sizes of buckets, ascending: how many children one holds.
	// Beyond the largest, each size is twice the one
	// before. The default goes up by halves from 4.
	Buckets []int
	// KeepCapacity lets a list keep its bucket when children are removed.
	KeepCapacity bool
	// ManualGrowth stops the tree from allocating by itself: what needs more room
	// than was reserved is refused with ErrRoom.
	ManualGrowth bool
	// Reserve is the initial room, as with Tree.Reserve.
	Reserve Room
}

// NewTree makes an empty tree. It panics if the sizes of buckets are not
// ascending or less than 1.
func NewTree(o TreeOptions) *Tree {
	c := o.classes()
	t := &Tree{
		split: splitFor(1), records: []word{0, 0, noBucket}, owners: []handle.Handle{handle.None},
		classes: c, free: make([]uint32, c.count()), keep: o.KeepCapacity, arenas: noArenas(sectorWords),
	}
	t.reader.tree = t
	t.Reserve(o.Reserve)
	t.manual = o.ManualGrowth
	return t
}

// Links returns the number of children: entities that have a parent.
func (t *Tree) Links() int { return t.links }

// node returns where to write the node of h.
func (t *Tree) node(h handle.Handle) (*word, error) {
	if h.Version() == 0 {
		return nil, ErrAbsent // None, and values that were never a handle
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

// listed returns the list of an entity, or 0 if it has none, or one that only keeps capacity.
func (t *Tree) listed(h handle.Handle) uint32 {
	number := t.own(h)
	if l := t.list(number); l.children() == 0 && !l.is(added|fixed) {
		return 0
	}
	return number
}

// has reports whether an entity is in the tree. An entity with a list that only keeps capacity is
// not.
func (t *Tree) has(h handle.Handle) bool { return t.linkOf(t.look(h)) != 0 || t.listed(h) != 0 }

// expect makes room for that many more children of an entity.
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

// entities yields the entities that the tree has.
func (t *Tree) entities(yield func(handle.Handle) bool) {
	for first, p := range t.dir.each {
		for i, w := range p {
			if n := node(w); n != 0 && !yield(handleAt(first, i, n)) {
				return
			}
		}
	}
}

// Add puts an entity in the tree, as a root. It stays until it is removed, with
// or without children. An entity that was not added is in the tree only while
// it has a parent or children. Adding an entity again is no error.
func (t *Tree) Add(h handle.Handle) error {
	n, err := t.listOf(h)
	if err == nil {
		t.touchList(n)
		t.list(n).set(added)
	}
	return err
}

// Remove removes an entity from its parent and from the tree. gap says what becomes of its
// place. It returns ErrChildren if the entity has children, and ErrAbsent
// if it is not in the tree.
func (t *Tree) Remove(h handle.Handle, gap Gap) error {
	if t.list(t.own(h)).children() > 0 {
		return ErrChildren
	}
	return t.RemoveBranch(h, gap)
}

// RemoveBranch removes an entity and all of its descendants from the tree. It
// returns ErrAbsent if the entity is not in the tree.
func (t *Tree) RemoveBranch(h handle.Handle, gap Gap) error {
	had := t.has(h)
	for at := h; ; {
		number, up := t.own(at), t.parent(at)
		switch l := t.list(number); {
		case l.children() > 0:
			l.unset(fixed)
			t.trim(number)
			at = t.items(number)[l.places()-1]
		case at != h:
			t.erase(at, Hole)
			at = up
		default:
			t.erase(h, gap)
			if !had {
				return ErrAbsent
			}
			return nil
		}
	}
}

// erase forgets an entity without children.
func (t *Tree) erase(h handle.Handle, gap Gap) {
	t.detach(h, gap)
	if number := t.own(h); number != 0 {
		t.dropList(number)
	}
}

// AddChild makes an entity a child of another: its last one, or in a fixed list at the first
// free place. Both are added to the tree. O(1), or O(depth) for a child that has children itself.
//
// It returns ErrParent if the child already has a parent, a CycleError if it is the
// parent or an ancestor of it, and ErrNoPlace if a fixed list is full.
func (t *Tree) AddChild(parent, child handle.Handle) error {
	return t.do(child, change{op: opAddChild, to: parent})
}

// AddChildAt is AddChild at a place, from 0 to the number of places. Children from there on move
// back by one. O(later children). It returns ErrPlace for a place beyond, and ErrFixed for a fixed
// list.
func (t *Tree) AddChildAt(parent, child handle.Handle, place int) error {
	return t.do(child, change{op: opAddChildAt, to: parent, place: clamp(place)})
}

// AddChildren is AddChild for each child in turn, with room made once. With an error it adds none.
func (t *Tree) AddChildren(parent handle.Handle, children []handle.Handle) error {
	if len(children) == 0 {
		return nil
	}
	had := t.own(parent) != 0
	if err := t.expect(parent, len(children)); err != nil {
		return err
	}
	for i, child := range children {
		if err := t.AddChild(parent, child); err != nil {
			t.takeBack(parent, had, children[:i])
			return err
		}
	}
	return nil
}

// takeBack removes the children that were added last, and the parent's list, unless it had one
// before.
func (t *Tree) takeBack(parent handle.Handle, had bool, added []handle.Handle) {
	for _, child := range slices.Backward(added) {
		t.detach(child, Hole)
	}
	switch number := t.own(parent); {
	case number == 0:
	case had:
		t.trimList(number)
	default: // even a fixed one
		t.dropList(number)
	}
}

// RemoveChild removes a child from its parent. If the child has children, or
// was added, it stays in the tree as a root. It returns ErrAbsent if the child has no
// parent.
func (t *Tree) RemoveChild(child handle.Handle, gap Gap) error {
	if gap == Swap && t.swapRemove(child) || t.detach(child, gap) {
		return nil
	}
	return ErrAbsent
}

// RemoveHoles closes the holes of a list, in order. In a fixed list the free
// places are last then. It returns ErrAbsent if the entity has no list.
func (t *Tree) RemoveHoles(parent handle.Handle) error {
	number := t.listed(parent)
	if number == 0 {
		return ErrAbsent
	}
	t.close(number)
	t.trimList(number)
	return nil
}

// Move is Relation.Move, at once. gap says what becomes of the place that the child
// leaves, if it has a parent. It returns the errors of AddChild except ErrParent.
func (t *Tree) Move(child, parent handle.Handle, gap Gap) error {
	return t.do(child, change{op: opMove, to: parent, gap: gap})
}

// MoveAt is Move to a place, as Relation.MoveAt. It returns the errors of AddChildAt except
// ErrParent.
func (t *Tree) MoveAt(child, parent handle.Handle, place int, gap Gap) error {
	return t.do(child, change{op: opMoveAt, to: parent, place: clamp(place), gap: gap})
}

// MoveBefore is Move to the place of another child, as Relation.MoveBefore.
func (t *Tree) MoveBefore(child, sibling handle.Handle, gap Gap) error {
	return t.do(child, change{op: opMoveBefore, to: sibling, gap: gap})
}

// MoveAfter is Move to the place after another child, as Relation.MoveAfter.
func (t *Tree) MoveAfter(child, sibling handle.Handle, gap Gap) error {
	return t.do(child, change{op: opMoveAfter, to: sibling, gap: gap})
}

// Sort sorts the children of an entity. The sort is stable. Holes come last.
// O(children · log children). It sorts a copy: until
// all are compared, and if compare panics, the children are unchanged. It panics if
// compare gives the entity other children.
func (t *Tree) Sort(parent handle.Handle, compare func(a, b handle.Handle) int) error {
	if t.listed(parent) == 0 {
		return ErrAbsent
	}
	isHole := func(h handle.Handle) bool { return h == handle.None }
	sorted := slices.DeleteFunc(slices.Clone(t.items(t.own(parent))), isHole)
	slices.SortStableFunc(sorted, compare)
	number := t.own(parent) // compare may have changed it
	isOther := func(h handle.Handle) bool { return t.parent(h) != parent }
	if t.list(number).children() != len(sorted) || slices.ContainsFunc(sorted, isOther) {
		panic("hierarchy: Sort: the comparison has changed the children that it compares; change them after the Sort")
	}
	t.close(number)
	copy(t.items(number), sorted)
	t.renumber(number, 0)
	return nil
}

// SwapPlaces exchanges the contents of two places of a list: children or nothing.
func (t *Tree) SwapPlaces(parent handle.Handle, i, j int) error {
	number := t.listed(parent)
	if number == 0 {
		return ErrAbsent
	}
	t.settled(number)
	items := t.items(number)
	if min(i, j) < 0 || max(i, j) >= len(items) {
		return ErrPlace
	}
	items[i], items[j] = items[j], items[i]
	t.touchPlaces(number, i, i+1)
	t.touchPlaces(number, j, j+1)
	for _, p := range [...]int{i, j} {
		if items[p] != handle.None {
			t.link(items[p], number, p)
		}
	}
	t.trim(number)
	return nil
}

// Swap exchanges the places of two children, as Relation.Swap.
func (t *Tree) Swap(a, b handle.Handle) error { return t.do(a, change{op: opSwap, to: b}) }

// SetPlaces makes the list of an entity a fixed one of n places, or with 0 one that
// grows and shrinks, as Relation.SetPlaces does.
func (t *Tree) SetPlaces(parent handle.Handle, n int) error {
	if n < 0 || n > PlaceMax {
		return ErrPlace
	}
	number, err := t.listOf(parent)
	if err != nil {
		return err
	}
	l := t.settled(number)
	if n == 0 {
		l.unset(fixed)
		t.trim(number)
		t.trimList(number)
		return nil
	}
	was := min(l.places(), n)
	t.steps += max(l.places(), n) - was
	if slices.ContainsFunc(t.items(number)[was:], func(h handle.Handle) bool { return h != handle.None }) {
		return ErrTaken
	}
	if err := t.makeRoom(number, n); err != nil {
		t.trimList(number)
		return err
	}
	l.setPlaces(n)
	clear(t.items(number)[was:])
	t.touchPlaces(number, was, n)
	l.set(fixed)
	return nil
}

// Put moves a child to a free place of a list, as Relation.Put: from the list of another
// parent, where gap says what becomes of the place; from the same list, where it
// leaves a hole; or from none. It can return a CycleError.
func (t *Tree) Put(child, parent handle.Handle, place int, gap Gap) error {
	return t.do(child, change{op: opPut, to: parent, place: clamp(place), gap: gap})
}

// PutFree is Put into the first free place, as Relation.PutFree.
func (t *Tree) PutFree(child, parent handle.Handle, gap Gap) error {
	return t.do(child, change{op: opPutFree, to: parent, gap: gap})
}

// Transfer is Put, or with a negative place PutFree, of a child that from must have, as
// Relation.Transfer.
func (t *Tree) Transfer(child, from, to handle.Handle, place int, gap Gap) error {
	return t.do(child, change{op: opTransfer, to: to, from: from, place: clamp(place), gap: gap})
}

// clamp keeps a place within int32. A place out of range remains out of range.
func clamp(place int) int32 { return int32(min(max(place, -1), PlaceMax+1)) }
