package hierarchy

import (
	"slices"

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

const (
	pageBits  = 10
	pageSize  = 1 << pageBits
	pageShift = handle.VersionBits + pageBits
	homeShift = handle.VersionBits + handle.IndexBits
	homePages = 1 << (handle.IndexBits - pageBits) // the most pages that a home has
)

// page is the nodes of 1024 consecutive indexes of a home.
type page [pageSize]word

// directory maps a handle to its page: by its home, and by the page within that.
//
//	homes ─▶ [home 0][home 1][home 2] …
//	             └─▶ [page 0][page 1][no page] …  as many as the highest index needs
//
// Each home's table is as long as its own indexes need, so a home with many entities costs
// the others nothing. All missing pages are one shared page that stays empty.
//
// Invariants: every entry of a home's table is a page; noPage is all zeroes.
type directory struct {
	homes [][]*page
	pages int
}

var noPage page

// reserve makes room for more pages in each of the first homes.
func (d *directory) reserve(homes, pages int) {
	d.addHomes(homes)
	for i := range d.homes[:homes] {
		d.homes[i] = slices.Grow(d.homes[i], pages)
	}
}

func (d *directory) addHomes(n int) {
	if n > len(d.homes) {
		d.homes = append(d.homes, make([][]*page, n-len(d.homes))...)
	}
}

// add puts in the page that h is on.
func (d *directory) add(h handle.Handle, p *page) {
	home, number := int(h>>homeShift), int(h>>pageShift%homePages)
	d.addHomes(home + 1)
	for len(d.homes[home]) <= number {
		d.homes[home] = append(d.homes[home], &noPage)
	}
	d.homes[home][number] = p
	d.pages++
}

// each yields all pages with their first handles, of version 0, in ascending order.
func (d *directory) each(yield func(handle.Handle, *page) bool) {
	for home, table := range d.homes {
		for number, p := range table {
			first := handle.Handle(home)<<homeShift | handle.Handle(number)<<pageShift
			if p != &noPage && !yield(first, p) {
				return
			}
		}
	}
}

// place returns where the node of h is, whatever the version, or nil.
func (d *directory) place(h handle.Handle) *word {
	if home := h >> homeShift; home < handle.Handle(len(d.homes)) {
		table := d.homes[home]
		if i := h >> pageShift % homePages; i < handle.Handle(len(table)) && table[i] != &noPage {
			return &table[i][h>>handle.VersionBits%pageSize]
		}
	}
	return nil
}

// pagesOf returns how many pages a home has, and a function that returns them; a missing page is an
// empty one.
func (d *directory) pagesOf(home int) int {
	if home < len(d.homes) {
		return len(d.homes[home])
	}
	return 0
}

func (d *directory) page(home, i int) *page {
	if i < d.pagesOf(home) {
		return d.homes[home][i]
	}
	return &noPage
}

// handleAt returns the handle of a node, by the first handle of its page.
func handleAt(first handle.Handle, i int, n node) handle.Handle {
	return first + handle.Handle(i)<<handle.VersionBits | handle.Handle(n>>versionShift)
}
