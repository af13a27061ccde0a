package hierarchy

import (
	"math"
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

// Room is an amount of memory of a tree.
type Room struct {
	Entities int // entities that are parents or children, with handles in a row
	Parents  int // of these, who has children or was added
	// Buckets is how many buckets there are to be of each size, in the order of
	// TreeOptions.Buckets. While a list grows, it holds on to a bucket until it
	// has the next.
	Buckets []int
	// Homes is over how many homes parents are spread evenly, from 0 on; by
	// default 1.
	Homes int
}

// WordsMax is the number of words in the arena of one home: 1<<32-1, or 1<<28-1 where an
// int has 32 bits.
const WordsMax = min(1<<32-1, math.MaxInt/wordBytes)

func (r Room) homes() int { return max(r.Homes, 1) }

// pages is the number of pages of nodes: a home's last one may be part full.
func (r Room) pages() int {
	if r.Entities <= 0 {
		return 0
	}
	return (r.Entities+pageSize-1)/pageSize + r.homes() - 1
}

// listPages is the number of pages of records. Record 0 is not used.
func (r Room) listPages() int {
	if r.Parents <= 0 {
		return 0
	}
	return r.Parents/listPageSize + r.homes()
}

// bucketWords is the words in one home's buckets.
func (r Room) bucketWords(c classes) int {
	words := 0
	for class, n := range r.Buckets {
		words += (n + r.homes() - 1) / r.homes() * c.size(class)
	}
	return words
}

// paged is the words in pages, and of the owners.
func (r Room) paged() int {
	return r.pages()*pageSize + r.listPages()*(listPageWords+listPageSize)
}

func (r Room) words(c classes) int {
	return r.paged() + r.homes()*r.bucketWords(c)
}

const wordBytes = 8

// SizeNeeded returns how many bytes a tree of these options takes for so much
// room.
func (o TreeOptions) SizeNeeded(r Room) int {
	c := defaultClasses
	if o.Buckets != nil {
		c = chosenClasses(o.Buckets)
	}
	return r.words(c) * wordBytes
}

// chosenClasses checks sizes chosen by the user.
func chosenClasses(sizes []int) classes {
	c := slices.Clone(classes(sizes))
	if !c.ascending() {
		panic("hierarchy: Buckets must be ascending sizes, from 1 on; leave it nil for the default")
	}
	return c
}

// classesMax bounds the number of sizes, so that a class fits in its field.
const classesMax = 128

func (c classes) ascending() bool {
	for i, n := range c {
		if n < 1 || i > 0 && n <= c[i-1] || n > WordsMax {
			return false
		}
	}
	return len(c) > 0 && len(c) <= classesMax
}

// Reserve makes room for so much more, in one allocation beside the directories:
// what fits in it allocates nothing. Lists that are there move to the new memory.
func (t *Tree) Reserve(r Room) {
	paged := r.paged()
	more := r.bucketWords(t.classes)
	if paged+more == 0 {
		return
	}
	t.addArenas(r.homes())
	total := paged + len(t.block) + len(t.owners)
	for i := range r.homes() {
		total += t.arenas[i].used() + more
	}
	block := make([]word, total)
	for i := range r.homes() {
		a := t.arenas[i]
		n := a.used() + more
		t.move(a, block[:0:n])
		block = block[n:]
	}
	n := len(t.owners) + r.listPages()*listPageSize
	t.owners = append(block[:0:n], t.owners...)
	t.block = block[n:]
	t.lists = slices.Grow(t.lists, r.listPages())
	perHome := (r.pages() + r.homes() - 1) / r.homes()
	t.dir.reserve(r.homes(), perHome)
	t.show()
}

// NeedsGrowth reports whether adding so many more children to an entity, each new
// to the tree and with a handle next to those that are there, would allocate.
func (t *Tree) NeedsGrowth(parent handle.Handle, children int) bool {
	paged, places, class := 0, children, noBucket
	if n := t.look(parent); n.hasList() {
		l := t.list(t.number(n))
		places, class = l.places()+children, l.class()
	} else {
		if t.dir.place(parent) == nil {
			paged += pageSize
		}
		if int(parent.Shard()) >= len(t.arenas) {
			return true
		}
		if t.arenas[parent.Shard()].freeList == 0 {
			paged += listPageWords
		}
	}
	if paged > len(t.block) {
		return true
	}
	if class != noBucket && places <= t.classes.size(class) {
		return false
	}
	a := t.arenas[parent.Shard()]
	class = t.classes.fit(places)
	return a.free[class] == 0 && len(a.words)+t.classes.size(class) > cap(a.words)
}

// Bytes returns the memory that a tree takes, room that is not used among it.
func (t *Tree) Bytes() int {
	words := len(t.block) + cap(t.owners) + t.dir.pages*pageSize + len(t.lists)*listPageWords
	for i := range t.arenas {
		words += cap(t.arenas[i].words)
	}
	return words*wordBytes + t.dir.bytes() + cap(t.lists)*listRefBytes
}
