package hierarchy

import "github.com/atoll-sim/atoll/handle"

// This file changes leaves, children that are no parents, in the usual case, in which nothing has
// to be allocated or given back. Each function reports whether this was the usual case; if not, it
// did nothing. In a large tree such a change waits for memory, because the nodes of children are
// scattered. So no branch depends on memory that is still being loaded, and the processor begins
// the next change before this one is done.

// behind returns the list of an entity and its memory, if there is room after
// the last child.
func (t *Tree) behind(parent handle.Handle) (number uint32, l *list, words []word) {
	number = t.own(parent)
	l = t.list(number)
	if class := l.class(); class == noBucket || l.places() >= t.classes.size(class) || l.is(fixed) {
		return 0, nil, nil
	}
	return number, l, t.bucket(l.start(), l.places()+1)
}

// append is AddChild for a child that is not in the tree and a list that has room.
func (t *Tree) append(parent, child handle.Handle) bool {
	at := t.dir.place(child)
	number, l, words := t.behind(parent)
	if l == nil || at == nil || *at != 0 || child == parent || child.Version() == 0 {
		return false
	}
	t.putLast(at, child, number, l, words)
	return true
}

// putLast puts a child, whose node is at, after the last of a list that has room.
func (t *Tree) putLast(at *word, child handle.Handle, number uint32, l *list, words []word) {
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
func (t *Tree) swapRemove(child handle.Handle) bool {
	was := t.dir.place(child)
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
	at := t.dir.place(last)
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
func (t *Tree) moveAppend(child, parent handle.Handle) bool {
	number, l, words := t.behind(parent)
	if l == nil || !t.swapRemove(child) {
		return false
	}
	t.putLast(t.dir.place(child), child, number, l, words)
	return true
}
