package hierarchy

import (
	"fmt"
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

// verify looks at every word of a tree and returns what is wrong, if anything: all
// that the invariants of Tree, arena and list promise. O(n).
func (t *Tree) verify() error {
	if len(t.owners) == 0 || t.owners[0] != handle.None || len(t.lists) > ParentsMax>>listPageBits+1 {
		return fmt.Errorf("list 0 has an owner, or there are %d pages of lists", len(t.lists))
	}
	links, err := t.verifyNodes() // first: the rest follows what they name
	if err != nil {
		return err
	}
	children := 0
	for _, a := range t.arenas {
		n, err := t.verifyArena(a)
		if err != nil {
			return fmt.Errorf("arena %d: %w", a.home, err)
		}
		children += n
	}
	if links != t.links || children != t.links {
		return fmt.Errorf("%d links, %d children and %d nodes that have a parent", t.links, children, links)
	}
	return t.verifyRoots()
}

// verifyArena checks the lists and buckets of a home.
func (t *Tree) verifyArena(a *arena) (children int, err error) {
	room := newBitmap(len(a.words))
	free := 0
	for number, ref := range t.lists {
		if ref.arena != a {
			continue
		}
		for n := uint32(number) << listPageBits; n < uint32(number+1)<<listPageBits; n++ {
			owner := t.owners[n]
			if owner == handle.None {
				if n != 0 {
					free++
				}
				continue
			}
			if owner.Shard() != a.home {
				return 0, fmt.Errorf("list %d is of %v", n, owner)
			}
			if err := t.verifyList(n, room, a); err != nil {
				return 0, fmt.Errorf("list %d of %v: %w", n, owner, err)
			}
			children += t.list(n).children()
		}
	}
	if err := t.verifyFreeLists(a, free); err != nil {
		return 0, err
	}
	return children, t.verifyFreeBuckets(a, room)
}

// verifyList checks one list, its bucket, its owner's node and its children's.
func (t *Tree) verifyList(number uint32, room *bitmap, a *arena) error {
	l, owner := t.list(number), t.owners[number]
	if n := t.look(owner); n&linkMask != owning(number) {
		return fmt.Errorf("the owner's node is %#x", uint64(n))
	}
	size := 0
	if class := l.class(); class != noBucket {
		if class >= len(a.free) {
			return fmt.Errorf("class %d", class)
		}
		size = t.classes.size(class)
		if !room.take(l.start(), size) {
			return fmt.Errorf("its bucket overlaps another, or is outside")
		}
	}
	if l.places() > size {
		return fmt.Errorf("%d places in a bucket of %d", l.places(), size)
	}
	if l.class() == noBucket && l.start() != 0 {
		return fmt.Errorf("it has no bucket, at %d", l.start())
	}
	children := 0
	items := t.items(number)
	for p, child := range items {
		if child == handle.None {
			continue
		}
		children++
		if link := t.linkOf(t.look(child)); link != t.split.link(number, p) {
			return fmt.Errorf("place %d holds %v, whose link is %#x", p, child, uint64(link))
		} else if p >= t.split.round() && t.split.placeIn(items, child, link) != p {
			return fmt.Errorf("place %d holds %v, who is in another too", p, child)
		}
	}
	switch {
	case children != l.children():
		return fmt.Errorf("it has %d children and says %d", children, l.children())
	case l.isOpen() && (l.is(holes) || l.is(fixed) || !slices.Contains(t.open, number)):
		return fmt.Errorf("it has gaps that nobody will close")
	case l.is(fixed):
	case children != l.places() && !l.is(holes) && !l.isOpen():
		return fmt.Errorf("%d children in %d places, without holes", children, l.places())
	case l.places() > 0 && items[l.places()-1] == handle.None:
		return fmt.Errorf("its last place is empty")
	}
	return nil
}

// verifyFreeLists checks that what is not a list is in the chain of free records.
func (t *Tree) verifyFreeLists(a *arena, want int) error {
	for n := a.freeList; n != 0; n = uint32(t.list(n)[listLink]) {
		if want--; want < 0 || uint64(n) >= uint64(len(t.owners)) || t.owners[n] != handle.None {
			return fmt.Errorf("the chain of free records leads to %d", n)
		}
	}
	if want != 0 {
		return fmt.Errorf("%d free records are lost", want)
	}
	return nil
}

// verifyFreeBuckets checks that all words are a list's bucket or in one chain.
func (t *Tree) verifyFreeBuckets(a *arena, room *bitmap) error {
	idle := 0
	for class, at := range a.free {
		size := t.classes.size(class)
		for ; at != 0; at = uint32(a.words[at-1]) {
			if !room.take(int(at-1), size) {
				return fmt.Errorf("the chain of free buckets of %d leads to %d", size, at-1)
			}
			idle += size
		}
	}
	if idle != a.idle || room.taken != len(a.words) {
		return fmt.Errorf("of %d words %d are taken; %d are free and it says %d", len(a.words), room.taken, idle, a.idle)
	}
	return nil
}

// verifyNodes checks what the nodes name, and counts those that have a parent.
func (t *Tree) verifyNodes() (links int, err error) {
	for first, p := range t.dir.each {
		for i, w := range p {
			n := node(w)
			if n == 0 {
				continue
			}
			h := handleAt(first, i, n)
			number := t.number(n)
			if h.Version() == 0 || number == 0 || int(number) >= len(t.owners) || t.owners[number] == handle.None {
				return 0, fmt.Errorf("the node of %v is %#x", h, uint64(n))
			}
			if n.hasList() && t.owners[number] != h {
				return 0, fmt.Errorf("%v says that the list of %v is its own", h, t.owners[number])
			}
			if t.linkOf(n) != 0 {
				links++
			}
		}
	}
	return links, nil
}

// verifyRoots checks that every way up ends: that there is no cycle.
func (t *Tree) verifyRoots() error {
	const underway, ends = 1, 2
	state := make([]uint8, len(t.owners))
	var path []uint32
	for n := range t.owners {
		if t.owners[n] == handle.None {
			continue
		}
		number := uint32(n)
		for path = path[:0]; number != 0 && int(number) < len(state) && state[number] == 0; number = t.number(t.list(number).link()) {
			state[number] = underway
			path = append(path, number)
		}
		if int(number) >= len(state) || state[number] == underway {
			return fmt.Errorf("%v is its own ancestor, or its link leads nowhere", t.owners[n])
		}
		for _, number := range path {
			state[number] = ends
		}
	}
	return nil
}

// bitmap is a set of words.
type bitmap struct {
	bits  []uint64
	n     int
	taken int
}

func newBitmap(n int) *bitmap { return &bitmap{bits: make([]uint64, (n+63)/64), n: n} }

// take puts in size words, and reports whether they are within and none was in.
func (b *bitmap) take(at, size int) bool {
	if at < 0 || size > b.n || at > b.n-size {
		return false
	}
	b.taken += size
	for size > 0 {
		bit := at % 64
		n := min(size, 64-bit)
		mask := ^uint64(0) >> (64 - n) << bit
		if b.bits[at/64]&mask != 0 {
			return false
		}
		b.bits[at/64] |= mask
		at, size = at+n, size-n
	}
	return true
}
