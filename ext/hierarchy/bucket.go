package hierarchy

import "slices"

// The children of one parent are in one bucket. A full one is exchanged for one of
// the next class. Buckets of a class that are free are chained through their first
// words, so keeping them takes no memory. (The idea is the Entitytainer's, by
// Srekel.)
//
//	arena  [bucket of 4][bucket of 8  ][free, 4 ][bucket of 12     ] … room
//	free   4: ─────────────────────────▲ its first word names the next free one
//
// Invariants: buckets do not overlap; in an arena that is not old, each belongs to a list or is in
// the chain of its class.

// classes are the sizes of buckets: those of the options, and beyond them each twice the
// one before.
type classes []int

// classesMax bounds the number of sizes, so that a class fits in its field.
const classesMax = 128

// defaultClasses steps by halves, so that at most a third of a bucket is empty
// when a list has grown into it, and by fours where most lists are.
var defaultClasses = func() classes {
	c := classes{4, 8, 12}
	for n := 16; n <= 1<<16; n *= 2 {
		c = append(c, n, n+n/2)
	}
	return c
}()

// classes returns the sizes of buckets. It panics if they are not ascending.
func (o *TreeOptions) classes() classes {
	if o.Buckets == nil {
		return defaultClasses
	}
	c := slices.Clone(classes(o.Buckets))
	if !c.ascending() {
		panic("hierarchy: Buckets must be ascending sizes, from 1 on; leave it nil for the default")
	}
	return c
}

func (c classes) ascending() bool {
	for i, n := range c {
		if n < 1 || i > 0 && n <= c[i-1] || n > WordsMax {
			return false
		}
	}
	return len(c) > 0 && len(c) <= classesMax
}

func (c classes) size(class int) int {
	if class < len(c) {
		return c[class]
	}
	return c[len(c)-1] << (class - len(c) + 1)
}

// fit returns the smallest class with room for n.
func (c classes) fit(n int) int {
	class, _ := slices.BinarySearch(c, n)
	for c.size(class) < n {
		class++
	}
	return class
}

// count returns the number of classes that a tree has words for.
func (c classes) count() int { return c.fit(WordsMax+1) + 1 }

// newBucket returns the start of a bucket of a class.
func (t *Tree) newBucket(class int) (int, error) {
	size := t.classes.size(class)
	t.sweepSome(size * sweepPace)
	at := int(t.free[class])
	if at != 0 {
		t.free[class] = uint32(t.bucket(at, 1)[0])
	} else {
		first, err := t.roomFor(size)
		if err != nil {
			return 0, err
		}
		words := &t.sectors[first].words
		at = first<<sectorBits + len(*words)
		*words = (*words)[:len(*words)+size]
	}
	t.live += size
	t.arenaAt(at).live += size
	t.steps += size * newSteps
	return at, nil
}

// freeBucket gives back the bucket of a list, if it has one.
func (t *Tree) freeBucket(l *list) {
	class := l.class()
	if class == noBucket {
		return
	}
	at := l.start()
	l.setBucket(0, noBucket)
	t.chain(at, class)
}

// chain gives back a bucket that no list has.
func (t *Tree) chain(at, class int) {
	a, size := t.arenaAt(at), t.classes.size(class)
	t.live -= size
	switch a.live -= size; {
	case !a.old:
		t.bucket(at, 1)[0] = word(t.free[class])
		t.free[class] = uint32(at)
	case a.live == 0:
		t.dropArena(int(a.head))
	}
}

// move copies the buckets to an arena that is the only one afterwards, one after the other in the
// order of the lists. A slice of the old memory keeps its contents.
func (t *Tree) move(to []word) {
	t.touchBuckets()
	for n := range uint32(len(t.owners)) {
		l := t.list(n)
		if class := l.class(); class != noBucket {
			at := len(to)
			to = to[:at+t.classes.size(class)]
			copy(to[at:], t.items(n))
			l.setBucket(sectorWords+at, class)
		}
	}
	t.arenas = noArenas(t.most)
	clear(t.free)
	if cap(to) > 0 {
		t.current, _ = t.addArena(to)
		t.live, t.sectors[t.current].live = len(to), len(to)
	}
}

// resize moves a list to a bucket of another class, which has room for its places.
func (t *Tree) resize(number uint32, class int) error {
	at, err := t.newBucket(class)
	if err != nil {
		return err
	}
	l := t.list(number)
	copy(t.bucket(at, l.places()), t.items(number))
	t.steps += l.places()
	t.freeBucket(l)
	l.setBucket(at, class)
	t.touchPlaces(number, 0, l.places())
	return nil
}

// makeRoom gives a list a bucket with room for n places.
func (t *Tree) makeRoom(number uint32, n int) error {
	if class := t.list(number).class(); class == noBucket || n > t.classes.size(class) {
		return t.resize(number, t.classes.fit(n))
	}
	return nil
}

// shrinks reports whether that many places need far less than a bucket of a class.
func (t *Tree) shrinks(class, places int) bool {
	return class >= 2 && places <= t.classes.size(class-2)
}
