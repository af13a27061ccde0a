package slots

import "github.com/atoll-sim/atoll/handle"

// Index is a directory of slots besides that of the world: it says where entities were at one
// moment. Its Lookup finds those entities and no others, as that of a world does. It shares with
// the Index that it was made from the pages in which nothing differs.
//
// Invariants: a page that another Index has is not written.
//
// Ownership: one goroutine until it is complete; then nobody writes, and any goroutine may look up.
type Index struct {
	Lookup
	homes [][]*page // by home: the pages
	own   [][]bool  // by home: which pages no other Index has; nil when the index is complete
}

// noPage stands for a page without entities.
var noPage page

// NewIndex makes an index for a number of homes with the contents of another, or with nothing if
// from is nil.
func NewIndex(homes int, from *Index) *Index {
	x := &Index{Lookup: newLookup(homes), homes: make([][]*page, homes), own: make([][]bool, homes)}
	if from == nil {
		return x
	}
	for i, pages := range from.homes {
		x.homes[i] = append(make([]*page, 0, len(pages)), pages...)
		x.own[i] = make([]bool, len(pages))
	}
	return x
}

// Enter says where the entity of h is.
func (x *Index) Enter(h handle.Handle, l Loc) { *x.slot(h) = Slot{uint32(h), l} }

// Leave says that the entity of h is nowhere.
func (x *Index) Leave(h handle.Handle) { *x.slot(h) = Slot{} }

// slot returns the slot of h, in a page of its own.
func (x *Index) slot(h handle.Handle) *Slot {
	home, at := h.Home(), int(h.Index()>>pageBits)
	for len(x.homes[home]) <= at {
		x.homes[home] = append(x.homes[home], &noPage)
		x.own[home] = append(x.own[home], false)
	}
	if !x.own[home][at] {
		p := *x.homes[home][at]
		x.homes[home][at], x.own[home][at] = &p, true
	}
	return &x.homes[home][at][h.Index()%pageSize]
}

// Complete makes the index ready for look-ups. Nothing can be entered any more.
func (x *Index) Complete() *Index {
	for home, pages := range x.homes {
		if len(pages) > 0 {
			x.enter(uint32(home), pages, len(pages))
		}
	}
	x.own = nil
	return x
}
