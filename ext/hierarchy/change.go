package hierarchy

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

// Add puts an entity in the tree, as a root. It stays until it is removed, with
// or without children. An entity that was not added is in the tree only while
// it has a parent or children. Adding an entity again is no error.
func (t *tree) Add(h handle.Handle) error {
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
func (t *tree) Remove(h handle.Handle, gap Gap) error {
	if t.list(t.own(h)).children() > 0 {
		return ErrChildren
	}
	return t.RemoveBranch(h, gap)
}

// RemoveBranch removes an entity and all of its descendants from the tree. It
// returns ErrAbsent if the entity is not in the tree.
func (t *tree) RemoveBranch(h handle.Handle, gap Gap) error {
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
func (t *tree) erase(h handle.Handle, gap Gap) {
	t.detach(h, gap)
	if number := t.own(h); number != 0 {
		t.dropList(number)
	}
}

// takeBack removes the children that were added last, and the parent's list, unless it had one
// before.
func (t *tree) takeBack(parent handle.Handle, had bool, added []handle.Handle) {
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
func (t *tree) RemoveChild(child handle.Handle, gap Gap) error {
	if gap == Swap && t.swapRemove(child) || t.detach(child, gap) {
		return nil
	}
	return ErrAbsent
}

// RemoveHoles closes the holes of a list, in order. In a fixed list the free
// places are last then. It returns ErrAbsent if the entity has no list.
func (t *tree) RemoveHoles(parent handle.Handle) error {
	number := t.listed(parent)
	if number == 0 {
		return ErrAbsent
	}
	t.close(number)
	t.trimList(number)
	return nil
}

// Sort sorts the children of an entity. The sort is stable. Holes come last.
// O(children · log children). It sorts a copy: until
// all are compared, and if compare panics, the children are unchanged. It panics if
// compare gives the entity other children.
func (t *tree) Sort(parent handle.Handle, compare func(a, b handle.Handle) int) error {
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

// SetPlaces makes the list of an entity a fixed one of n places, or with 0 one that
// grows and shrinks, as Relation.SetPlaces does.
func (t *tree) SetPlaces(parent handle.Handle, n int) error {
	if n < 0 || n > placeMax {
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

// Free is a place for Put and PutFrom: the first that is free.
const Free = -1

// clamp keeps a place within int32. A place out of range remains out of range.
func clamp(place int) int32 { return int32(min(max(place, Free-1), placeMax+1)) }

// change is a change of the entity that it is applied to or sent with.
type change struct {
	to    handle.Handle // the parent, the sibling or the partner
	from  handle.Handle // the parent that the entity must have
	place int32
	gap   Gap // what becomes of the place that the entity leaves
	op    op
}

// op says what a change does. Logs of inputs have these numbers, and so have snapshots of requests
// under way. Who gives an op another number also moves a field of change: then what was written
// before is refused and not taken for other changes.
type op uint8

const (
	opAddChild op = iota
	opAddChildAt
	opAdd
	opRemove
	opRemoveChild
	opRemoveHoles
	opMove
	opMoveAt
	opMoveBefore
	opSwap
	opSort // of one child: to its place in the order
	opSetPlaces
	opPut
	opPutFrom
	opAdopt // is not sent: AddChild of one that is known to be no ancestor
)

// String names the op as the method that asks for it.
func (o op) String() string {
	return [...]string{
		"AddChild", "AddChildAt", "Add", "Remove", "RemoveChild", "RemoveHoles", "Move", "MoveAt", "MoveBefore",
		"Swap", "Sort", "SetPlaces", "Put", "PutFrom", "adopt",
	}[o]
}

// named returns the error of a call of the user's: for ErrCycle a CycleError with the path that was noted.
func (t *tree) named(err error) error {
	if err == ErrCycle {
		return &CycleError{slices.Clone(t.path), t.omitted}
	}
	return err
}

// change makes a change. The path of an ErrCycle is in t.path and t.omitted.
func (t *tree) change(h handle.Handle, c *change) error {
	switch c.op {
	case opPutFrom:
		if t.parent(h) != c.from {
			return ErrElsewhere
		}
		return t.insert(h, c)
	case opRemoveChild:
		return t.RemoveChild(h, c.gap)
	case opAdd:
		return t.Add(h)
	case opRemove:
		return t.Remove(h, c.gap)
	case opSwap:
		return t.swap(h, c.to)
	case opSort:
		return t.reorder(h, c.from, int(c.place))
	case opSetPlaces:
		return t.SetPlaces(h, int(c.place))
	case opRemoveHoles:
		return t.RemoveHoles(h)
	default:
		return t.insert(h, c)
	}
}

// climb returns an error if child is parent or an ancestor of it: ErrCycle, and notes the path. It
// returns ErrSteps if that takes too many steps to find out.
func (t *tree) climb(child, parent handle.Handle) error {
	var low, high [pathEnds]handle.Handle // the first, and the last at n%pathEnds
	n := 0
	for h := parent; ; n++ {
		if n < pathEnds {
			low[n] = h
		}
		high[n%pathEnds] = h
		if h == child {
			break
		}
		if t.stepsMax > 0 && t.steps+n*linkSteps > t.stepsMax {
			t.steps += n * linkSteps
			return ErrSteps
		}
		if h = t.parent(h); h == handle.None {
			t.steps += n * linkSteps
			return nil
		}
	}
	t.steps += n * linkSteps
	t.path = append(t.path[:0], low[:min(n+1, pathEnds)]...)
	for i := max(pathEnds, n+1-pathEnds); i <= n; i++ {
		t.path = append(t.path, high[i%pathEnds])
	}
	slices.Reverse(t.path)
	t.omitted = max(0, n+1-2*pathEnds)
	return ErrCycle
}

// swap exchanges the places of two children.
func (t *tree) swap(a, b handle.Handle) error {
	nodeA, nodeB := t.look(a), t.look(b)
	la, lb := t.linkOf(nodeA), t.linkOf(nodeB)
	switch {
	case la == 0 || lb == 0:
		return ErrAbsent
	case a == b:
		return nil
	}
	if nodeA.hasList() {
		if err := t.climb(a, t.parent(b)); err != nil {
			return err
		}
	}
	if nodeB.hasList() {
		if err := t.climb(b, t.parent(a)); err != nil {
			return err
		}
	}
	na, nb := t.number(la), t.number(lb)
	t.exchange(na, t.placeIn(t.items(na), a, la), nb, t.placeIn(t.items(nb), b, lb))
	return nil
}

// reorder exchanges a child of a parent with what is at another place of the list.
func (t *tree) reorder(child, parent handle.Handle, place int) error {
	number := t.own(parent)
	if t.parent(child) != parent {
		return ErrElsewhere
	}
	if place < 0 || place >= t.settled(number).places() {
		return ErrPlace
	}
	t.exchange(number, t.placeOf(child), number, place)
	t.trim(number)
	return nil
}

// exchange exchanges the contents of two places, in the same list or in two.
func (t *tree) exchange(one uint32, i int, other uint32, j int) {
	a, b := &t.items(one)[i], &t.items(other)[j]
	t.touchPlaces(one, i, i+1)
	t.touchPlaces(other, j, j+1)
	*a, *b = *b, *a
	if t.link(*b, other, j); *a != handle.None {
		t.link(*a, one, i)
	}
}

// insertMode says where a child is inserted into a list.
type insertMode uint8

const (
	atEnd  insertMode = iota // after the last; in a fixed list, at the first free place
	before                   // at a place; children from there on move back
	beside                   // before another child
	into                     // into a free place
	free                     // into the first free place
)

// where returns where a change inserts its entity.
func (c *change) where() insertMode {
	switch c.op {
	case opAddChildAt, opMoveAt:
		return before
	case opMoveBefore:
		return beside
	case opPut, opPutFrom:
		if c.place == Free {
			return free
		}
		return into
	}
	return atEnd
}

// insert makes an entity a child of c.to, or a sibling. The entity leaves its parent, except
// that AddChild and AddChildAt refuse a child that has a parent.
func (t *tree) insert(child handle.Handle, c *change) error {
	parent, gap, adds, where := c.to, c.gap, c.op <= opAddChildAt, c.where()
	if where == beside {
		if parent = t.parent(c.to); parent == handle.None || child == c.to {
			return ErrAbsent
		}
	}
	if where == atEnd && (!adds && gap == Swap && t.moveAppend(child, parent) || t.append(parent, child)) {
		return nil
	}
	switch n := t.look(child); {
	case adds && t.linkOf(n) != 0:
		return ErrParent
	case c.op != opAdopt && (child == parent || n.hasList()):
		if err := t.climb(child, parent); err != nil {
			return err
		}
	}
	if _, err := t.node(child); err != nil {
		return err
	}
	number, err := t.listOf(parent) // may change all links
	if err != nil {
		return err
	}
	l, from := t.list(number), t.number(t.linkOf(t.look(child)))
	inside := from == number
	if inside {
		if where == atEnd && l.is(fixed) {
			where = free
		}
		if where != atEnd {
			t.settled(number)
		}
		if where == free || where == into { // no other child moves
			if where == free && l.children() == l.places() || where == into && int(c.place) == t.placeOf(child) {
				return nil
			}
			gap = Hole
		}
	}
	place, err := t.prepare(number, where, int(c.place), inside && gap != Hole)
	if err != nil {
		t.trimList(number)
		return err
	}
	if from != 0 {
		t.leave(child, t.linkOf(t.look(child)), gap)
		t.unlink(child)
	}
	switch {
	case !inside:
	case where == atEnd:
		place = l.places()
	default:
		t.settled(number)
	}
	if where == beside {
		where, place = before, t.placeOf(c.to)
	}
	t.enter(number, child, where, place)
	if from != 0 && !inside {
		t.trimList(from)
	}
	return nil
}

// prepare checks that a child can be inserted into a list, makes room, and returns
// the place. After it, enter cannot fail. With leaves, the child first leaves a place of the same
// list, whose gap is closed.
func (t *tree) prepare(number uint32, where insertMode, place int, leaves bool) (int, error) {
	l := t.list(number)
	if where != atEnd || l.is(fixed) {
		t.settled(number)
	}
	n := l.places()
	switch {
	case where == before || where == beside:
		if leaves {
			n--
		}
		if l.is(fixed) {
			return 0, ErrFixed
		}
		if where == before && (place < 0 || place > n) {
			return 0, ErrPlace
		}
		return place, t.makeRoom(number, n+1)
	case where == into:
		if place < 0 || l.is(fixed) && place >= n || place > placeMax {
			return 0, ErrPlace
		}
		if place >= n {
			return place, t.makeRoom(number, place+1)
		}
		if t.items(number)[place] != handle.None {
			return 0, ErrTaken
		}
		return place, nil
	case (where == free || l.is(fixed)) && l.children() < n:
		return t.firstFree(number), nil
	case l.is(fixed):
		return 0, ErrNoPlace
	}
	return n, t.makeRoom(number, n+1)
}

// firstFree returns the first free place of a list that has one.
func (t *tree) firstFree(number uint32) int {
	place := slices.Index(t.items(number), handle.None)
	t.steps += place
	return place
}

// enter inserts a child without a parent at the place that prepare returned.
func (t *tree) enter(number uint32, child handle.Handle, where insertMode, place int) {
	l := t.list(number)
	n := l.places()
	words := t.bucket(l.start(), t.classes.size(l.class()))
	t.touchPlaces(number, place, place+1)
	l[listState] += childOne
	t.links++
	switch {
	case place >= n:
		t.touchPlaces(number, n, place)
		t.steps += place - n
		clear(words[n:place])
		l.setPlaces(place + 1)
	case where == before:
		t.touchPlaces(number, place, n+1)
		copy(words[place+1:n+1], words[place:n])
		l.setPlaces(n + 1)
		t.shift(number, place+1)
	}
	words[place] = child
	t.link(child, number, place)
}

// unlinkChildren makes the children of a list roots, and appends those that have children
// to parents, unless that is nil.
func (t *tree) unlinkChildren(number uint32, parents *[]handle.Handle) {
	for _, child := range t.items(number) {
		if child == handle.None {
			continue
		}
		t.unlink(child)
		if parents != nil && t.look(child) != 0 {
			*parents = append(*parents, child)
		}
	}
	t.empty(number)
}

// empty says that a list has no places. Its children have no links to it, or will have others.
func (t *tree) empty(number uint32) {
	l := t.list(number)
	t.touchList(number)
	t.links -= l.children()
	l.setPlaces(0)
	l[listState] &= childOne - 1
	l.unset(fixed)
	l.unsetOpen()
}
