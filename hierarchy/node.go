package hierarchy

import (
	"math/bits"

	"github.com/atoll-sim/atoll/handle"
)

// word is the unit of a tree's memory: a child's handle, or fields packed in 64
// bits. As all is of one type, one allocation serves all.
type word = handle.Handle

// node is what a tree knows of one entity:
//
//	63        36 35                 1   0
//	┌───────────┬─────────┬──────────┬─────┐
//	│ version   │ place   │ list     │ own │
//	└───────────┴─────────┴──────────┴─────┘
//
// Without own, the list is the one that the entity is a child in, and place the
// low bits of its place there. With own, it is the list of its own children, which
// keeps the link to the parent. The zero node is that of no entity: versions start at 1.
// How many bits are the list's is said by the tree's split.
//
// With the wide layout of handles the version has 26 bits, and what is below it 38.
//
// The version makes a node answer to one handle alone, with no second load to
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

// ParentsMax is the number of entities of a tree that can have children, or have
// been added, at a time.
const ParentsMax = 1<<listBitsMax - 1

func (n node) hasList() bool { return n&hasListBit != 0 }

// owning is the link part of the node of a list's owner.
func owning(list uint32) node { return node(list)<<listShift | hasListBit }

// split is how the bits of a link are divided between list and place. With few
// parents the place has many, so that it is whole, and found without looking,
// however many children there are.
type split struct {
	lists node // the mask of a list's number
	shift uint8
}

// splitFor returns the split of a tree with so many records of lists.
func splitFor(records int) split {
	n := max(listBitsMin, bits.Len(uint(records-1)))
	return split{lists: 1<<n - 1, shift: uint8(listShift + n)}
}

// link is the link of a child at a place of a list.
func (s split) link(list uint32, place int) node {
	return (node(place)<<(s.shift&63) | node(list)<<listShift) & linkMask
}

// place returns what a link says of the place: its low bits.
func (s split) place(link node) int { return int(link & linkMask >> (s.shift & 63)) }

// round is the number of places from one to the next of the same low bits.
func (s split) round() int { return 1 << (versionShift - s.shift) }

// number returns the number of the list that a node or a link names, or 0.
func (t *Tree) number(n node) uint32 { return uint32(n >> listShift & t.split.lists) }

// divide makes the links those of another split, with fewer bits for the place.
// Owners' nodes have none. O(entities), once for each doubling of more than 65,536
// parents.
func (t *Tree) divide(by split) {
	was := t.split
	t.split = by
	t.touchLinks()
	again := func(n node) node { return n&^linkMask | by.link(uint32(n>>listShift&was.lists), was.place(n)) }
	for _, p := range t.dir.each {
		for i, w := range p {
			if n := node(w); !n.hasList() {
				p[i] = word(again(n))
			}
		}
	}
	for n, owner := range t.owners {
		if owner != handle.None {
			l := t.list(uint32(n))
			l[listLink] = word(again(l.link()))
		}
	}
}
