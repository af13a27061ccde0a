package hierarchy

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/atoll-sim/atoll/handle"
)

// Room is an amount of memory of a tree.
type Room struct {
	Entities int // entities that are parents or children, with handles in a row
	Parents  int // of these, the ones that have children or were added
	// Buckets is how many buckets of each size there are to be, in the order of
	// TreeOptions.Buckets. While a list grows, it keeps its bucket until it
	// has the next.
	Buckets []int
	// Homes is over how many homes the entities are evenly spread, from 0 on. Default:
	// 1.
	Homes int
}

// WordsMax is the number of words in the buckets of a tree: 3<<29-1, or 1<<28-1 where an
// int has 32 bits. A bucket of more than 4,096 counts for up to four times as many.
const WordsMax = min(3<<29-1, math.MaxInt/wordBytes)

const wordBytes = 8

func (r Room) homes() int { return max(r.Homes, 1) }

// pages is the number of pages of nodes: a home's last one may be part full.
func (r Room) pages() int {
	if r.Entities <= 0 {
		return 0
	}
	return (r.Entities+pageSize-1)/pageSize + r.homes() - 1
}

// bucketWords is the words in buckets.
func (r Room) bucketWords(c classes) int {
	words := 0
	for class, n := range r.Buckets {
		words += n * c.size(class)
	}
	return words
}

// SizeNeeded returns how many bytes a tree with these options takes for that much
// room.
func (o TreeOptions) SizeNeeded(r Room) int {
	return (r.pages()*pageSize + max(r.Parents, 0)*(listWords+1) + r.bucketWords(o.classes())) * wordBytes
}

// Reserve makes room for that much more, in one allocation and one for the directory: what fits in
// it allocates nothing. Existing lists move to the new memory.
func (t *Tree) Reserve(r Room) {
	if r.Entities <= 0 && r.Parents <= 0 && len(r.Buckets) == 0 {
		return
	}
	lists := max(cap(t.owners), len(t.owners)+r.Parents)
	words, pages := t.live+r.bucketWords(t.classes), r.pages()
	if words > WordsMax {
		panic(fmt.Sprintf("hierarchy: Reserve of %d words in buckets; a tree has WordsMax, %d", words, WordsMax))
	}
	memory := make([]word, len(t.block)+pages*pageSize+lists*(listWords+1)+words)
	cut := func(n int) []word {
		part := memory[:0:n]
		memory = memory[n:]
		return part
	}
	t.move(cut(words))
	t.records = append(cut(lists*listWords), t.records...)
	t.owners = append(cut(lists), t.owners...)
	t.block = memory
	t.dir.reserve(r.homes(), (pages+r.homes()-1)/r.homes())
}

// NeedsGrowth reports whether adding that many more children to an entity would allocate, if each
// is new to the tree and its handle is next to those in the tree.
func (t *Tree) NeedsGrowth(parent handle.Handle, children int) bool {
	number := t.own(parent)
	if number == 0 && (t.dir.place(parent) == nil && len(t.block) == 0 || t.freeList == 0 && t.recordsFull()) {
		return true
	}
	l := t.list(number)
	places := l.places() + children
	if class := l.class(); class != noBucket && places <= t.classes.size(class) {
		return false
	}
	class := t.classes.fit(places)
	return t.sweep != 0 || t.free[class] == 0 && !t.fits(t.classes.size(class))
}

// Bytes returns the memory that a tree takes, including unused room.
func (t *Tree) Bytes() int {
	words := len(t.block) + cap(t.owners) + cap(t.records) + cap(t.sectors) + t.held + t.dir.pages*pageSize
	refs := 3*cap(t.dir.homes) + 4*cap(t.sectors) + cap(t.firsts) // a slice for each home, for example
	for _, table := range t.dir.homes {
		refs += cap(table)
	}
	return words*wordBytes + refs*bits.UintSize/8
}
