package hierarchy

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

// PlaceMax is the highest place that a child can have.
const PlaceMax = 1<<31 - 2

// insertMode says where a child is inserted into a list.
type insertMode uint8

const (
	atEnd  insertMode = iota // after the last; in a fixed list, at the first free place
	before                   // at a place; children from there on move back
	beside                   // before another child, or with MoveAfter after it
	into                     // into a free place
	free                     // into the first free place
)

// insert makes an entity a child of c.to, or a sibling. The entity leaves its parent, except
// that AddChild and AddChildAt refuse a child that has a parent.
func (t *Tree) insert(child handle.Handle, c *change, where insertMode) error {
	parent, gap, adds := c.to, c.gap, c.op <= opAddChildAt
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
		if where, place = before, t.placeOf(c.to); c.op == opMoveAfter {
			place++
		}
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
func (t *Tree) prepare(number uint32, where insertMode, place int, leaves bool) (int, error) {
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
		if place < 0 || l.is(fixed) && place >= n || place > PlaceMax {
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
func (t *Tree) firstFree(number uint32) int {
	place := slices.Index(t.items(number), handle.None)
	t.steps += place
	return place
}

// enter inserts a child without a parent at the place that prepare returned.
func (t *Tree) enter(number uint32, child handle.Handle, where insertMode, place int) {
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
