package hierarchy

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

// arena is the memory for the lists of one home's parents: their records, and the
// buckets that hold the children.
//
//	words  [bucket of 4][bucket of 8  ][free, 4 ][bucket of 12     ] … room
//	free   4: ─────────────────────────▲ its first word names the next free one
//
// The children of one parent are in one bucket. A full one is exchanged for one of
// the next class. Buckets of a class that are free are chained through their first
// words, so keeping them takes no memory. (The idea is the Entitytainer's, by
// Srekel.)
//
// Invariants: buckets do not overlap; each is a list's or in the chain of its
// class. Growing leaves none free.
type arena struct {
	home     uint32
	words    []word
	free     []uint32 // by class: where the first free bucket is, plus 1
	idle     int      // words in free buckets
	freeList uint32   // the first free record of a list
}

// classes are the sizes of buckets: those chosen, and beyond them each twice the
// one before.
type classes []int

// defaultClasses steps by halves, so that at most a third of a bucket is empty
// when a list has grown into it, and by fours where most lists are.
var defaultClasses = func() classes {
	c := classes{4, 8, 12}
	for n := 16; n <= 1<<16; n *= 2 {
		c = append(c, n, n+n/2)
	}
	return c
}()

func (c classes) size(class int) int {
	if class < len(c) {
		return c[class]
	}
	return c[len(c)-1] << (class - len(c) + 1)
}

// fit returns the smallest class with room for n.
func (c classes) fit(n int) int {
	class, found := slices.BinarySearch(c, n)
	if found || class < len(c) {
		return class
	}
	for c.size(class) < n {
		class++
	}
	return class
}

// count returns the number of classes that an arena has words for.
func (c classes) count() int { return c.fit(WordsMax+1) + 1 }

const (
	growNumerator, growDenominator = 5, 4 // an arena that is full grows by a quarter

	firstWords = 64
)

// used returns the words in buckets that are not free.
func (a *arena) used() int { return len(a.words) - a.idle }

// arena returns that of a home.
func (t *Tree) arena(home uint32) (*arena, error) {
	if int(home) >= len(t.arenas) {
		if t.manual {
			return nil, ErrRoom
		}
		t.addArenas(int(home) + 1)
	}
	return t.arenas[home], nil
}

// addArenas makes those of the first n homes.
func (t *Tree) addArenas(n int) {
	have := len(t.arenas)
	if n <= have {
		return
	}
	more, classes := make([]arena, n-have), t.classes.count()
	free := make([]uint32, len(more)*classes)
	t.arenas = slices.Grow(t.arenas, len(more))
	for i := range more {
		more[i].home = uint32(have + i)
		more[i].free, free = free[:classes:classes], free[classes:]
		t.arenas = append(t.arenas, &more[i])
	}
}

// newBucket returns the start of a bucket of a class.
func (t *Tree) newBucket(a *arena, class int) (int, error) {
	size := t.classes.size(class)
	if a.free[class] != 0 {
		at := a.free[class] - 1
		a.free[class] = uint32(a.words[at])
		a.idle -= size
		return int(at), nil
	}
	if len(a.words)+size > cap(a.words) {
		if t.manual {
			return 0, ErrRoom
		}
		live := a.used()
		if live+size > WordsMax {
			return 0, ErrLimit
		}
		t.move(a, make([]word, 0, max(firstWords, live+size, (live+size)*growNumerator/growDenominator)))
	}
	at := len(a.words)
	a.words = a.words[:at+size]
	return at, nil
}

// freeBucket gives back the bucket of a list, if it has one.
func (t *Tree) freeBucket(a *arena, l *list) {
	class := l.class()
	if class == noBucket {
		return
	}
	at := l.start()
	a.words[at] = word(a.free[class])
	a.free[class] = uint32(at) + 1
	a.idle += t.classes.size(class)
	l.setBucket(0, noBucket)
}

// move takes an arena's buckets to other memory, one behind the other in the
// order of the lists. Who holds a slice of the old memory keeps what was there.
func (t *Tree) move(a *arena, to []word) {
	for number, ref := range t.lists {
		if ref.arena != a {
			continue
		}
		for n := uint32(number) << listPageBits; n < uint32(number+1)<<listPageBits; n++ {
			l := t.list(n)
			if t.owners[n] == handle.None || l.class() == noBucket {
				continue
			}
			at, from := len(to), l.start()
			to = to[:at+t.classes.size(l.class())]
			copy(to[at:], a.words[from:from+l.places()])
			l.setBucket(at, l.class())
		}
	}
	a.words, a.idle = to, 0
	clear(a.free)
}

// resize takes a list to a bucket of another class that has room for its places.
func (t *Tree) resize(number uint32, class int) error {
	l, a := t.list(number), t.arenaOf(number)
	at, err := t.newBucket(a, class)
	if err != nil {
		return err
	}
	copy(a.words[at:at+l.places()], t.items(number))
	t.freeBucket(a, l)
	l.setBucket(at, class)
	return nil
}

// makeRoom gives a list a bucket with room for n places.
func (t *Tree) makeRoom(number uint32, n int) error {
	if class := t.list(number).class(); class == noBucket || n > t.classes.size(class) {
		return t.resize(number, t.classes.fit(n))
	}
	return nil
}

// shrinks reports whether so many places need far less than a bucket of a class.
func (t *Tree) shrinks(class, places int) bool {
	return class >= 2 && places <= t.classes.size(class-2)
}

// shrink takes a list to a smaller bucket if it has come to need far less: two
// classes below, so that a list at the edge of one does not go to and fro.
func (t *Tree) shrink(number uint32) {
	l := t.list(number)
	class := l.class()
	if t.keep || class == noBucket || l.is(fixed) {
		return
	}
	if l.places() == 0 {
		t.freeBucket(t.arenaOf(number), l)
		return
	}
	for t.shrinks(class, l.places()) {
		if t.resize(number, class-1) != nil {
			return // there is no room to be tidy in
		}
		class--
	}
}
