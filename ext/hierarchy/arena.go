package hierarchy

import (
	"iter"
	"math"
	"slices"
)

// Buckets are in arenas. What is in an arena stays where it is when the tree grows: more room is
// another arena, of up to a sector, or one of its own for a larger bucket. So each list is in one
// piece, and growing copies nothing.
//
//	sectors  1         2         3         4         5         6
//	arenas   [buckets·][buckets·][bucket of two and a half   ][buckets, room ]
//	                                                          ▲ current
//
// The number of a word, by which lists name their buckets, is a sector and a place in it. Sector 0
// has no words. An arena of Reserve may have any number of sectors, with buckets across them.
//
// When there is much more memory than lists need, a sweep begins: each arena that has unused words
// becomes an old one, in which nothing is used again. Lists leave them for others one after the
// other, some whenever there is a new bucket, and the rest at refreshes. An old arena that no list
// is in any more is given back. What the tree means, and the steps that it counts, never depend on
// which arena something is in.
//
// Invariants: an arena has at most the words of its sectors. It is old only during a sweep, and
// then no list before tree.sweep is in it. Free buckets are in arenas that are not old.

// sector is a part of what words are numbered by.
type sector struct {
	words []word // of the arena that begins here: its buckets, with the room behind them
	live  int    // how many of these words are in buckets of lists
	head  uint32 // the first sector of the arena that this one belongs to, or 0
	old   bool
}

const (
	sectorBits  = 14
	sectorWords = 1 << sectorBits
	sectorsMax  = min(1<<32-1, math.MaxInt) >> sectorBits

	// sectorsFull is from how many sectors on a tree is full: then a sweep still has room.
	sectorsFull = sectorsMax / 8 * 3

	// wasteDenominator is which part of the words of lists may be unused before a sweep begins.
	wasteDenominator = 4

	// sweepPace is how many words are swept for each word of a new bucket, and sweepWords how many
	// in a refresh. A list that is looked at counts as a word, too.
	sweepPace, sweepWords = 4, 1 << 14

	firstWords = 64
)

// arenas has the arenas of a tree.
//
// Ownership: whoever owns the tree.
type arenas struct {
	sectors []sector
	firsts  []*word // the first word of each sector
	current int     // the first sector of the arena with room for buckets, or 0
	lowest  int     // no free sector is below it
	most    int     // how many words an arena for small buckets has
	used    int     // sectors
	held    int     // words in arenas
	live    int     // words in the buckets of lists
	sweep   uint32  // the list that is swept next, or 0
	still   bool    // a sweep neither begins nor goes on
}

// noSectors and noFirsts are sector 0, of all trees. Nothing writes to it.
var (
	noSectors = make([]sector, 1)
	noFirsts  = []*word{new(word)}
)

// noArenas returns the arenas of a tree without lists.
func noArenas(most int) arenas {
	return arenas{sectors: noSectors, firsts: noFirsts, lowest: 1, most: most}
}

// sectorsOf returns how many sectors so many words need.
func sectorsOf(words int) int { return (words + sectorWords - 1) >> sectorBits }

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
func (t *Memory) classes() classes {
	if t.Buckets == nil {
		return defaultClasses
	}
	c := slices.Clone(classes(t.Buckets))
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

// resize moves a list to a bucket of another class, which has room for its places.
func (t *tree) resize(number uint32, class int) error {
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
func (t *tree) makeRoom(number uint32, n int) error {
	if class := t.list(number).class(); class == noBucket || n > t.classes.size(class) {
		return t.resize(number, t.classes.fit(n))
	}
	return nil
}

// shrinks reports whether that many places need far less than a bucket of a class.
func (t *tree) shrinks(class, places int) bool {
	return class >= 2 && places <= t.classes.size(class-2)
}

// newBucket returns the start of a bucket of a class.
func (t *tree) newBucket(class int) (int, error) {
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
func (t *tree) freeBucket(l *list) {
	class := l.class()
	if class == noBucket {
		return
	}
	at := l.start()
	l.setBucket(0, noBucket)
	t.chain(at, class)
}

// chain gives back a bucket that no list has.
func (t *tree) chain(at, class int) {
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
func (t *tree) move(to []word) {
	t.changes = nil
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

// isSmall reports whether a bucket shares an arena with others.
func (t *tree) isSmall(size int) bool { return size <= t.most/4 }

// arenaAt returns the first sector of the arena in which a word is.
func (t *tree) arenaAt(at int) *sector { return &t.sectors[t.sectors[at>>sectorBits].head] }

// mayGrow reports whether buckets of these sizes can be added, without a sweep.
func (t *tree) mayGrow(sizes iter.Seq[int]) bool {
	words, sectors, small := t.live, t.used+64, 0 // arenas of a young tree are smaller than a sector
	for size := range sizes {
		words += size
		if t.isSmall(size) {
			small += size
		} else {
			sectors += sectorsOf(size)
		}
	}
	return words <= WordsMax && sectors+sectorsOf(small/3*4) <= sectorsFull
}

// fits reports whether a bucket fits in the current arena.
func (t *tree) fits(size int) bool {
	words := t.sectors[t.current].words
	return size <= cap(words)-len(words)
}

// roomFor returns the arena that has room for a bucket, after its last word.
func (t *tree) roomFor(size int) (first int, err error) {
	switch {
	case t.fits(size):
		return t.current, nil
	case t.manual:
		return 0, ErrRoom
	case t.live+size > WordsMax:
		return 0, ErrLimit
	}
	if t.sweep == 0 && !t.still && t.held-t.live > t.live/wasteDenominator+firstWords {
		t.beginSweep()
	}
	if !t.isSmall(size) {
		return t.addArena(make([]word, 0, size))
	}
	n := min(max(firstWords, t.live/wasteDenominator), t.most)
	if first, err = t.addArena(make([]word, 0, max(n, size))); err == nil {
		t.current = first
	}
	return first, err
}

// addArena adds memory, and returns its first sector.
func (t *tree) addArena(words []word) (int, error) {
	n := sectorsOf(cap(words))
	if !t.still && t.used+n > sectorsFull || t.used+n >= sectorsMax {
		return 0, ErrLimit
	}
	first := t.freeSectors(n)
	if first+n > sectorsMax {
		return 0, ErrLimit
	}
	t.growTo(first + n)
	t.setArena(first, words)
	return first, nil
}

// growTo makes that many sectors.
func (t *tree) growTo(sectors int) {
	if more := sectors - len(t.sectors); more > 0 {
		t.sectors = append(t.sectors, make([]sector, more)...)
		t.firsts = append(t.firsts, make([]*word, more)...)
	}
}

// setArena says that an arena begins at a sector. It and those after it are free.
func (t *tree) setArena(first int, words []word) {
	n := sectorsOf(cap(words))
	for i := range n {
		t.sectors[first+i].head = uint32(first)
		t.firsts[first+i] = &words[:cap(words)][i<<sectorBits]
	}
	t.sectors[first].words = words
	t.used, t.held = t.used+n, t.held+cap(words)
}

// freeSectors returns the first of so many free sectors in a row, which may be beyond those that
// there are.
func (t *tree) freeSectors(n int) int {
	for t.lowest < len(t.sectors) && t.sectors[t.lowest].head != 0 {
		t.lowest++
	}
	free := 0
	for i := t.lowest; i < len(t.sectors); i++ {
		if free++; t.sectors[i].head != 0 {
			free = 0
		}
		if free == n {
			return i + 1 - n
		}
	}
	return len(t.sectors) - free
}

// dropArena gives back the memory of an arena.
func (t *tree) dropArena(first int) {
	words := t.sectors[first].words
	n := sectorsOf(cap(words))
	clear(t.sectors[first : first+n])
	clear(t.firsts[first : first+n])
	t.used, t.held, t.lowest = t.used-n, t.held-cap(words), min(t.lowest, first)
	if t.current == first {
		t.current = 0
	}
}

// eachArena yields the arenas by their first sectors.
func (t *tree) eachArena(yield func(first int, s *sector) bool) {
	for i := range t.sectors {
		if s := &t.sectors[i]; i > 0 && int(s.head) == i && !yield(i, s) {
			return
		}
	}
}

// beginSweep makes every arena an old one that has unused words, and gives back those without
// lists.
func (t *tree) beginSweep() {
	for first, s := range t.eachArena {
		switch {
		case s.live == 0:
			t.dropArena(first)
		case s.live < cap(s.words):
			s.old = true
		}
	}
	clear(t.free)
	t.current, t.sweep = 0, 1
}

// sweepSome moves lists out of old arenas, until it has looked at about so many words. It reports
// whether it can go on.
func (t *tree) sweepSome(words int) bool {
	if t.sweep == 0 || t.still {
		return false
	}
	t.still = true
	steps, lists, full := t.steps, uint32(len(t.owners)), false
	for ; words > 0 && t.sweep < lists && !full; words-- {
		l := t.list(t.sweep)
		if class := l.class(); class != noBucket && t.arenaAt(l.start()).old {
			words -= t.classes.size(class)
			full = t.resize(t.sweep, class) != nil
		}
		t.sweep++
	}
	if full {
		t.sweep-- // it is tried again
	}
	if t.sweep >= lists {
		t.sweep = 0
	}
	t.steps, t.still = steps, false
	return t.sweep != 0 && !full
}
