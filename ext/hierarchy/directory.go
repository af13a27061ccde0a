package hierarchy

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/paged"
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
