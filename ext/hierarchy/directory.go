package hierarchy

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

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

// look returns the node of h, or 0 if the tree does not have h. It is small enough
// to be inlined.
func (t *Tree) look(h handle.Handle) node {
	if home := h >> homeShift; home < handle.Handle(len(t.dir.homes)) {
		table := t.dir.homes[home]
		if i := h >> pageShift % homePages; i < handle.Handle(len(table)) {
			if n := node(table[i][h>>handle.VersionBits%pageSize]); n>>versionShift == node(h&handle.VersionMax) {
				return n
			}
		}
	}
	return 0
}

// handleAt returns the handle of a node, by the first handle of its page.
func handleAt(first handle.Handle, i int, n node) handle.Handle {
	return first + handle.Handle(i)<<handle.VersionBits | handle.Handle(n>>versionShift)
}
