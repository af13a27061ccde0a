package hierarchy

import "github.com/atoll-sim/atoll/handle"

// insertMode says how a child comes into a list.
type insertMode uint8

const (
	atEnd  insertMode = iota // behind the last; in a fixed list, at the first free place
	before                   // at a place, those from there on moving back
	into                     // into a free place
	free                     // into the first free place
)

// prepare checks that a child can come into a list, makes the room, and returns
// the place. After it, enter cannot fail.
func (t *Tree) prepare(number uint32, where insertMode, place int) (int, error) {
	l := t.list(number)
	n := l.places()
	switch {
	case where == before && l.is(fixed):
		return 0, ErrFixed
	case where == before:
		if n = t.settled(number).places(); place < 0 || place > n {
			return 0, ErrPlace
		}
	case where == into:
		if l.isOpen() {
			n = t.settled(number).places()
		}
		if place < 0 || l.is(fixed) && place >= n || place > PlaceMax {
			return 0, ErrPlace
		}
		if place < n {
			if t.items(number)[place] != handle.None {
				return 0, ErrTaken
			}
			return place, nil
		}
		return place, t.makeRoom(number, place+1)
	case where == free || l.is(fixed):
		if l.isOpen() {
			n = t.settled(number).places()
		}
		if l.children() < n {
			return t.firstFree(number), nil
		}
		if l.is(fixed) {
			return 0, ErrNoPlace
		}
		place = n
	default:
		place = n
	}
	return place, t.makeRoom(number, n+1)
}

// PlaceMax is the highest place that a child can be put into.
const PlaceMax = 1<<31 - 2

// firstFree returns the first free place of a list that has one.
func (t *Tree) firstFree(number uint32) int {
	items := t.items(number)
	for p, child := range items {
		if child == handle.None {
			return p
		}
	}
	return len(items)
}

// enter puts a child, who has no parent, into the place that prepare returned.
func (t *Tree) enter(number uint32, child handle.Handle, where insertMode, place int) {
	l := t.list(number)
	words := t.words[l.start():]
	n := l.places()
	l[listState] += childOne
	t.links++
	switch {
	case place >= n:
		clear(words[n:place])
		l.setPlaces(place + 1)
		if place > n {
			l.set(holes)
		}
	case where == before:
		copy(words[place+1:n+1], words[place:n])
		l.setPlaces(n + 1)
		t.renumber(number, place+1)
	}
	words[place] = child
	t.link(child, number, place)
	if l.children() == l.places() {
		l.unset(holes)
	}
}

// moveChild takes a child to a list from wherever it is.
func (t *Tree) moveChild(child, parent handle.Handle, where insertMode, place int, gap Gap) error {
	if where == atEnd && gap == Swap && t.moveAppend(child, parent) {
		return nil
	}
	n := t.look(child)
	link := t.linkOf(n)
	if link == 0 {
		return t.adopt(parent, child, where, place)
	}
	if child == parent || n.hasList() && t.isAncestor(child, parent) {
		return t.cycle(child, parent)
	}
	number, err := t.listOf(parent)
	if err != nil {
		return err
	}
	if number == t.number(link) {
		return t.shift(number, child, where, place, gap)
	}
	if place, err = t.prepare(number, where, place); err != nil {
		t.trimList(number)
		return err
	}
	t.leave(t.number(link), child, link, gap)
	t.unlink(child)
	t.enter(number, child, where, place)
	t.trimList(t.number(link))
	return nil
}

// shift moves a child within its list. Into a free place it moves alone, and
// leaves a hole.
func (t *Tree) shift(number uint32, child handle.Handle, where insertMode, place int, gap Gap) error {
	l := t.list(number)
	if l.is(fixed) && where == atEnd {
		where = free
	}
	if where != atEnd {
		t.settled(number)
	}
	var err error
	switch n := l.places(); where {
	case atEnd:
		err = t.makeRoom(number, n+1)
	case before:
		place, err = t.shiftable(number, place, gap)
	default:
		if where == free && l.children() == n || where == into && place == t.placeOf(child) {
			return nil
		}
		place, err = t.prepare(number, where, place)
		gap = Hole
	}
	if err != nil {
		return err
	}
	t.leave(number, child, t.linkOf(t.look(child)), gap)
	t.unlink(child)
	switch where {
	case atEnd:
		place = l.places()
	case before:
		t.settled(number)
	}
	t.enter(number, child, where, place)
	return nil
}

// shiftable checks that a child can come to a place before others in the list
// where it is, and makes the room.
func (t *Tree) shiftable(number uint32, place int, gap Gap) (int, error) {
	l := t.list(number)
	n := l.places()
	if gap != Hole {
		n-- // the place it leaves is gone
	}
	switch {
	case l.is(fixed):
		return 0, ErrFixed
	case place < 0 || place > n:
		return 0, ErrPlace
	}
	return place, t.makeRoom(number, n+1)
}
