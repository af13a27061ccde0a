package hierarchy

import (
	"math/bits"

	"github.com/atoll-sim/atoll/handle"
)

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

// split is how the bits of a link are divided between list and place. With few
// parents place has many bits. Then it is the whole place, which is found without a search,
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

// round is the distance of two places with the same low bits.
func (s split) round() int { return 1 << (versionShift - s.shift) }

// number returns the number of the list that a node or a link names, or 0.
func (t *Tree) number(n node) uint32 { return uint32(n >> listShift & t.split.lists) }

// divide converts the links to another split, with fewer bits for the place.
// Owners' nodes have no place. O(entities), once for each doubling of more than 65,536
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
