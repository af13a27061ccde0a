package hierarchy

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
)

// verify looks at every word of a tree and returns what is wrong, if anything: all that the
// invariants of tree, of buckets and of list promise. Of a tree that was loaded it counts the words
// in buckets of lists. O(n).
func (t *tree) verify(loaded bool) error {
	if t.owners[0] != handle.None || t.list(0).link() != 0 {
		return fmt.Errorf("list 0 is %#x, of %v", *t.list(0), t.owners[0])
	}
	links, err := t.verifyNodes() // first: the rest follows the links that it checks
	if err != nil {
		return err
	}
	buckets := &buckets{tree: t, class: make([][]uint8, len(t.sectors)), live: make([]int, len(t.sectors))}
	for first, s := range t.eachArena {
		buckets.class[first] = make([]uint8, len(s.words))
	}
	children, free, open := 0, 0, 0
	for n := range uint32(len(t.owners)) {
		l := t.list(n)
		if l.is(noted) {
			open++
		}
		if t.owners[n] == handle.None {
			free++
			if r := *l; r[listSpan] != 0 || r[listState]|noted != noBucket|noted {
				return fmt.Errorf("the free record %d is %#x", n, r)
			}
		} else if err := t.verifyList(n, buckets); err != nil {
			return fmt.Errorf("list %d of %v: %w", n, t.owners[n], err)
		}
		children += l.children()
	}
	if links != t.links || children != t.links || open != len(t.open) {
		return fmt.Errorf("%d links, %d children and %d nodes that have a parent; %d lists are noted of %d", t.links, children, links, open, len(t.open))
	}
	for n := t.freeList; n != 0; n = uint32(t.list(n)[listLink]) {
		if free--; free < 1 || uint64(n) >= uint64(len(t.owners)) || t.owners[n] != handle.None {
			return fmt.Errorf("the chain of free records leads to %d", n)
		}
	}
	if free != 1 { // list 0
		return fmt.Errorf("%d free records are lost", free-1)
	}
	if err := buckets.verify(loaded); err != nil {
		return err
	}
	return t.verifyRoots()
}

// verifyNodes checks what the nodes name, and counts those that have a parent.
func (t *tree) verifyNodes() (links int, err error) {
	for first, p := range t.dir.All {
		for i, w := range p {
			n := node(w)
			if n == 0 {
				continue
			}
			h := handleAt(first, i, n)
			if number := t.number(n); h.Version() == 0 || n.hasList() && (int(number) >= len(t.owners) || t.owners[number] != h) {
				return 0, fmt.Errorf("the node of %v is %#x, and that list is another's", h, uint64(n))
			}
			switch link := t.linkOf(n); {
			case link != 0:
				if up := t.number(link); int(up) >= len(t.owners) || t.owners[up] == handle.None {
					return 0, fmt.Errorf("the link of %v is %#x, and that list has no owner", h, uint64(link))
				}
				links++
			case !n.hasList():
				return 0, fmt.Errorf("the node of %v is %#x", h, uint64(n))
			}
		}
	}
	return links, nil
}

// verifyList checks one list, its bucket, its owner's node and its children's.
func (t *tree) verifyList(number uint32, buckets *buckets) error {
	l := t.list(number)
	if n := t.look(t.owners[number]); n&linkMask != owning(number) {
		return fmt.Errorf("the owner's node is %#x", uint64(n))
	}
	size := 0
	if class := l.class(); class != noBucket {
		if !buckets.add(l.start(), class) {
			return fmt.Errorf("its bucket, of class %d, is another's, or outside", class)
		}
		size = t.classes.size(class)
	}
	if l.places() > size || size == 0 && l.start() != 0 {
		return fmt.Errorf("%d places in a bucket of %d at %d", l.places(), size, l.start())
	}
	children, items := 0, t.items(number)
	for p, child := range items {
		if child == handle.None {
			continue
		}
		children++
		if link := t.linkOf(t.look(child)); link != t.split.link(number, p) && (!l.is(shifted) || t.number(link) != number) {
			return fmt.Errorf("place %d holds %v, whose link is %#x", p, child, uint64(link))
		} else if (l.is(shifted) || p >= t.split.round()) && t.placeIn(items, child, link) != p {
			return fmt.Errorf("place %d holds %v, which is in another too", p, child)
		}
	}
	switch {
	case children != l.children():
		return fmt.Errorf("it has %d children and says %d", children, l.children())
	case l.is(shifted) && !l.is(noted):
		return fmt.Errorf("its links will not be corrected")
	case l.isOpen() && (children == l.places() || l.is(fixed) || !l.is(noted)):
		return fmt.Errorf("it has no gaps, or they will not be closed")
	case !l.is(fixed) && l.places() > 0 && items[l.places()-1] == handle.None:
		return fmt.Errorf("its last place is empty")
	}
	return nil
}

// verifyRoots checks that there is no cycle: every way up must end.
func (t *tree) verifyRoots() error {
	from := make([]uint32, len(t.owners)) // the list from which a way up first came here
	for n := range uint32(len(t.owners)) {
		if t.owners[n] == handle.None {
			continue
		}
		up := n
		for ; up != 0 && from[up] == 0; up = t.number(t.list(up).link()) {
			from[up] = n
		}
		if up != 0 && from[up] == n {
			return fmt.Errorf("%v is its own ancestor", t.owners[up])
		}
	}
	return nil
}

// buckets are those of lists and of the chains of free ones.
type buckets struct {
	tree  *tree
	class [][]uint8 // by arena and word: 1 more than the class of the bucket that begins there, or 0
	live  []int     // by arena
	n     int
}

// add notes a bucket, and reports whether it is within the words and new.
func (b *buckets) add(at, class int) bool {
	t, sector := b.tree, at>>sectorBits
	if sector >= len(t.sectors) || class >= len(t.free) {
		return false
	}
	first := int(t.sectors[sector].head)
	of, p := b.class[first], at-first<<sectorBits
	if t.classes.size(class) > len(of)-p || of[p] != 0 {
		return false
	}
	of[p] = uint8(class) + 1
	b.live[first] += t.classes.size(class)
	b.n++
	return true
}

// verify adds the free buckets, and checks that each word is in one bucket.
func (b *buckets) verify(loaded bool) error {
	t, live := b.tree, 0
	for first, s := range t.eachArena {
		if loaded {
			s.live, t.live = b.live[first], t.live+b.live[first]
		}
		if live += s.live; b.live[first] != s.live || s.old && (t.sweep == 0 || s.live == 0) {
			return fmt.Errorf("the arena of sector %d says that lists have %d words of it, and they have %d", first, s.live, b.live[first])
		}
	}
	if live != t.live {
		return fmt.Errorf("lists have %d words and not %d", live, t.live)
	}
	for class, at := range t.free {
		for ; at != 0; at = uint32(t.bucket(int(at), 1)[0]) {
			if !b.add(int(at), class) || t.arenaAt(int(at)).old {
				return fmt.Errorf("the chain of free buckets of class %d leads to %d", class, at)
			}
		}
	}
	for first, of := range b.class {
		for at := 0; at < len(of); {
			if of[at] == 0 {
				if t.sectors[first].old {
					at++
					continue
				}
				return fmt.Errorf("no bucket has the word %d of sector %d", at, first)
			}
			at += t.classes.size(int(of[at]) - 1)
			b.n--
		}
	}
	if b.n != 0 {
		return fmt.Errorf("buckets overlap")
	}
	return nil
}
