package hierarchy

import (
	"cmp"
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

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
func (t *Tree) note(number uint32) {
	if l := t.list(number); !l.is(noted) {
		l.set(noted)
		t.open = append(t.open, number)
		t.steps += l.places() * childSteps
	}
}

// shift corrects the links of the children from a place on, which have all moved by one, or puts
// it off.
func (t *Tree) shift(number uint32, from int) {
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
func (t *Tree) renumberShifted() {
	for _, number := range t.open {
		if l := t.list(number); l.is(shifted) {
			t.steps += l.places() * childSteps
			t.renumber(number, 0)
		}
	}
	t.shifts = 0
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

// renumber corrects the links of the children from a place on.
func (t *Tree) renumber(number uint32, from int) {
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

// close moves the children of a list up over its gaps and holes, in order. In a
// fixed list the free places are last then.
func (t *Tree) close(number uint32) {
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
func (t *Tree) closed(number uint32) []handle.Handle {
	t.close(number)
	return t.items(number)
}

// moveUp is close without correcting links. The children from a place on to before another have
// moved, by so many places at most.
func (t *Tree) moveUp(number uint32) (first, to, gaps int) {
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

// Settle closes all gaps whose closing was put off, and corrects all links. After it, and until the
// next change, reading writes nothing.
func (t *Tree) Settle() {
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

// settled returns a list after closing its gaps, if any.
func (t *Tree) settled(number uint32) *list {
	l := t.list(number)
	if l.isOpen() {
		t.close(number)
	}
	return l
}

// closeGaps closes the gaps that were put off. Holes in the same lists stay.
func (t *Tree) closeGaps() {
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
