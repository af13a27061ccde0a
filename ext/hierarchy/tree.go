package hierarchy

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/paged"
)

// tree is a forest of handles. Each entity has at most one parent, and its
// children are in order. A tree has no world and does not know which entities are alive. Relation
// is a tree for a world.
//
//	look-up   handle ─▶ page of nodes ─▶ list ─▶ bucket
//
// Looking up a parent or a list of children is O(1), and so are adding, and removing
// with a hole or by moving the last in. Closing a gap in order is O(children). It
// is put off until that list is read, so any number of removals cost it
// once.
//
// Invariants: a child is in one place of one list, which its node names; there is
// no cycle; a list's record, bucket and owner's node name each other.
//
// Ownership: one goroutine at a time, even for reading through Readers. After
// Settle, and until the next change, any number of goroutines may read, each with its own
// Reader.
type tree struct {
	dir      directory
	split    split
	records  []word          // of lists, by number
	owners   []handle.Handle // by number of list; None for a free one
	freeList uint32          // the first free record, or 0
	arenas                   // of buckets
	free     []uint32        // by class: the first free bucket, or 0
	classes  classes
	block    []word   // what is left of a Reserve, for pages of nodes
	open     []uint32 // lists that may have gaps, or links to correct, each once
	shifts   int      // by how many places children of shifted lists may be away
	gaps     []gapAt  // to be closed by closeGaps, while putOff is set
	putOff   bool
	links    int // children
	steps    int // what changes have cost; see linkSteps
	stepsMax int // at how many a climb gives up, or 0
	path     []handle.Handle
	omitted  int // between the two halves of path
	keep     bool
	manual   bool
	changes  *changes // nil unless there are copies of the tree
}

// Memory shape the memory of a relation. The zero value means the defaults.
type Memory struct {
	// Buckets are the sizes of buckets, ascending: how many children one holds.
	// Beyond the largest, each size is twice the one
	// before. The default goes up by halves from 4.
	Buckets []int
	// KeepCapacity lets a list keep its bucket when children are removed.
	KeepCapacity bool
	// ManualGrowth stops the relation from allocating by itself: what needs more room
	// than was reserved is refused with ErrRoom.
	ManualGrowth bool
	// Reserve is the initial room, as with Relation.Reserve.
	Reserve Room
}

// newTree makes an empty tree. It panics if the sizes of buckets are not
// ascending or less than 1.
func newTree(o Memory) *tree {
	c := o.classes()
	t := &tree{
		split: splitFor(1), records: []word{0, 0, noBucket}, owners: []handle.Handle{handle.None},
		classes: c, free: make([]uint32, c.count()), keep: o.KeepCapacity, arenas: noArenas(sectorWords),
	}
	t.Reserve(o.Reserve)
	t.manual = o.ManualGrowth
	return t
}

// SizeNeeded returns how many bytes a relation with these options takes for that much
// room.
func (t Memory) SizeNeeded(r Room) int {
	return (r.pages()*pageSize + max(r.Parents, 0)*(listWords+1) + r.bucketWords(t.classes())) * wordBytes
}

// Room is an amount of memory of a relation.
type Room struct {
	Entities int // entities that are parents or children, with handles in a row
	Parents  int // of these, the ones that have children or were added
	// Buckets is how many buckets of each size there are to be, in the order of
	// Memory.Buckets. While a list grows, it keeps its bucket until it
	// has the next.
	Buckets []int
	// Homes is over how many homes the entities are evenly spread, from 0 on. Default:
	// 1.
	Homes int
}

// WordsMax is the number of words in the buckets of a relation: 3<<29-1, or 1<<28-1 where an
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

// Reserve makes room for that much more, in one allocation and one for the directory: what fits in
// it allocates nothing. Existing lists move to the new memory.
func (t *tree) Reserve(r Room) {
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
	t.dir.Reserve(r.homes(), (pages+r.homes()-1)/r.homes())
}

// NeedsGrowth reports whether adding that many more children to an entity would allocate, if each
// is new to the tree and its handle is next to those in the tree.
func (t *tree) NeedsGrowth(parent handle.Handle, children int) bool {
	number := t.own(parent)
	if number == 0 && (t.dir.At(parent) == nil && len(t.block) == 0 || t.freeList == 0 && t.recordsFull()) {
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
func (t *tree) Bytes() int {
	words := len(t.block) + cap(t.owners) + cap(t.records) + cap(t.sectors) + t.held + t.dir.Pages*pageSize
	refs := 3*cap(t.dir.Homes) + 4*cap(t.sectors) + cap(t.firsts) // a slice for each home, for example
	for _, table := range t.dir.Homes {
		refs += cap(table)
	}
	return words*wordBytes + refs*bits.UintSize/8
}

// Links returns the number of children: entities that have a parent.
func (t *tree) Links() int { return t.links }

// has reports whether an entity is in the tree. An entity with a list that only keeps capacity is
// not.
func (t *tree) has(h handle.Handle) bool { return t.linkOf(t.look(h)) != 0 || t.listed(h) != 0 }

// expect makes room for that many more children of an entity.
func (t *tree) expect(parent handle.Handle, children int) error {
	number, err := t.listOf(parent)
	if err != nil {
		return err
	}
	if l := t.list(number); !l.is(fixed) {
		err = t.makeRoom(number, l.places()+children)
	}
	if err != nil {
		t.trimList(number)
	}
	return err
}

// entities yields the entities that the tree has.
func (t *tree) entities(yield func(handle.Handle) bool) {
	for first, p := range t.dir.All {
		for i, w := range p {
			if n := node(w); n != 0 && !yield(handleAt(first, i, n)) {
				return
			}
		}
	}
}

// isAncestor reports whether a is an ancestor of h, or h itself.
func (t *tree) isAncestor(a, h handle.Handle) bool {
	for h != a {
		if h = t.parent(h); h == handle.None {
			return false
		}
	}
	return true
}

// Gap is what becomes of the place that a child leaves.
type Gap uint8

// The kinds of gap. In a fixed list every gap stays a hole.
const (
	// Close moves later children up, in order. O(children), once for any number of children that
	// leave before the list is read.
	Close Gap = iota
	// Hole leaves the place empty: no other child moves. O(1).
	Hole
	// Swap moves the last child in. O(1).
	Swap
)

// String returns the kind as a lower-case word.
func (g Gap) String() string {
	if g > Swap {
		return "unknown"
	}
	return [...]string{"close", "hole", "swap"}[g]
}

// placeMax is the highest place that a child can have.
const placeMax = 1<<31 - 2

// word is the unit of a tree's memory: a child's handle, or fields packed in 64
// bits. As everything has one type, one allocation can hold it all.
type word = handle.Handle

// node is what a tree knows of one entity:
//
//	63        36 35                 1   0
//	┌───────────┬─────────┬──────────┬─────┐
//	│ version   │ place   │ list     │ own │
//	└───────────┴─────────┴──────────┴─────┘
//
// Without own, list is the list of the parent, and place has the
// low bits of the place in it. With own, list is the list of the entity's own children, which
// has the link to the parent. The zero node is that of no entity: versions start at 1.
// The tree's split says how many bits list has.
//
// With the wide layout of handles the version has 26 bits, and the rest 38.
//
// The version makes a node match one handle only, without a second load to
// check it.
type node word

// The fields of a node. Those below the version are a link.
const (
	versionShift = 64 - handle.VersionBits
	linkMask     = 1<<versionShift - 1

	hasListBit = 1
	listShift  = 1

	placeBitsMin = 11
	listBitsMax  = versionShift - listShift - placeBitsMin
	listBitsMin  = 16
)

// ParentsMax is how many entities of a tree can have children, or have
// been added, at a time.
const ParentsMax = 1<<listBitsMax - 1

func (n node) hasList() bool { return n&hasListBit != 0 }

// owning is the link part of the node of a list's owner.
func owning(list uint32) node { return node(list)<<listShift | hasListBit }

// directory has the nodes of a tree.
type directory = paged.Words[word]

const pageSize = paged.Size

// page is the nodes of 1,024 consecutive indexes of a home.
type page = paged.Page[word]

// noPage stands for a missing page in a comparison.
var noPage page

// handleAt returns the handle of a node, by the first handle of its page.
func handleAt(first handle.Handle, i int, n node) handle.Handle {
	return first + handle.Handle(i)<<handle.VersionBits | handle.Handle(n>>versionShift)
}
