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
// keeps the link to the parent. The zero node is nobody's: versions start at 1.
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

	ownBit    = 1
	listShift = 1

	placeBitsMin = 11
	listBitsMax  = versionShift - listShift - placeBitsMin
	listBitsMin  = 16
)

// ParentsMax is the number of entities of a tree that can have children, or have
// been added, at a time.
const ParentsMax = 1<<listBitsMax - 1

func (n node) own() bool { return n&ownBit != 0 }

// owning is the link part of the node of a list's owner.
func owning(list uint32) node { return node(list)<<listShift | ownBit }

// split is how the bits of a link are divided between list and place. With few
// parents the place has many, so that it is whole, and found without looking,
// however many children there are.
type split struct {
	lists node // the mask of a list's number
	shift uint8
}

// splitFor returns the split of a tree with so many pages of lists.
func splitFor(pages int) split {
	n := max(listBitsMin, bits.Len(uint(max(pages, 1)*listPageSize-1)))
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
	again := func(n node) node { return n&^linkMask | by.link(uint32(n>>listShift&was.lists), was.place(n)) }
	for _, r := range t.dir.refs {
		if r.page == nil {
			continue
		}
		for i, w := range r.page {
			if n := node(w); !n.own() {
				r.page[i] = word(again(n))
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

const (
	pageBits  = 10
	pageSize  = 1 << pageBits
	pageShift = handle.VersionBits + pageBits
)

// page is the nodes of 1024 consecutive indexes of a home.
type page [pageSize]word

type pageRef struct {
	base handle.Handle // home and index of the first node
	page *page
}

// noBase is the base of an entry without a page: further than a page away from
// every handle.
const noBase = 1 << 63

// directory takes a handle to its page in one step. Its entries are told apart by
// the low bits of the page number, as many as are needed. A world gives its homes
// page numbers that differ there, so the directory is little larger than the
// number of pages.
type directory struct {
	refs []pageRef
	mask handle.Handle // length of refs, a power of two, less one
}

// widen makes a directory of at least n entries with the same pages.
func (d *directory) widen(n int) {
	size := max(len(d.refs), 1)
	for size < n || !d.fits(size) {
		size *= 2
	}
	old := d.refs
	d.refs, d.mask = make([]pageRef, size), handle.Handle(size-1)
	for i := range d.refs {
		d.refs[i].base = noBase
	}
	for _, r := range old {
		if r.page != nil {
			d.refs[r.base>>pageBits&d.mask] = r
		}
	}
}

// fits reports whether the low bits tell all pages apart in so many entries.
func (d *directory) fits(size int) bool {
	taken := make(map[handle.Handle]bool, len(d.refs))
	for _, r := range d.refs {
		if r.page == nil {
			continue
		}
		at := r.base >> pageBits & handle.Handle(size-1)
		if taken[at] {
			return false
		}
		taken[at] = true
	}
	return true
}

// add puts in the page that h is on.
func (d *directory) add(h handle.Handle, p *page) {
	r := pageRef{base: h >> pageShift << pageBits, page: p}
	for at := h >> pageShift & d.mask; d.refs[at].page != nil; at = h >> pageShift & d.mask {
		d.widen(2 * len(d.refs))
	}
	d.refs[h>>pageShift&d.mask] = r
}

// has reports whether there is the page that begins at base.
func (d *directory) has(base handle.Handle) bool {
	r := &d.refs[base>>pageBits&d.mask]
	return r.page != nil && r.base == base
}

// pages returns the number of pages.
func (d *directory) pages() int {
	n := 0
	for i := range d.refs {
		if d.refs[i].page != nil {
			n++
		}
	}
	return n
}

// place returns where the node of h is, whosever it is, or nil.
func (d *directory) place(h handle.Handle) *word {
	e := &d.refs[h>>pageShift&d.mask]
	if i := h>>handle.VersionBits - e.base; i < pageSize {
		return &e.page[i]
	}
	return nil
}
