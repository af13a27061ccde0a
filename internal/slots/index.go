package slots

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/paged"
)

// Index is a directory of slots besides that of the world: it says where entities were at one
// moment. Its Lookup finds those entities and no others, as that of a world does. It shares with
// the Index that it was made from the pages in which nothing differs.
//
// Invariants: a page that another Index has is not written.
//
// Ownership: one goroutine until it is complete; then nobody writes, and any goroutine may look up.
type Index struct {
	Lookup
	pages paged.Words[Slot]
	from  *Index // has the pages that are not written; nil when the index is complete
}

// noPage stands for a page without entities.
var noPage page

// NewIndex makes an index for a number of homes with the contents of another, or with nothing if
// from is nil. The other must be complete.
func NewIndex(homes int, from *Index) *Index {
	if from == nil {
		from = new(Index)
	}
	return &Index{Lookup: newLookup(homes), pages: from.pages.Clone(), from: from}
}

// Enter says where the entity of h is. The index is not complete yet.
func (i *Index) Enter(h handle.Handle, l Loc) { *i.slot(h) = Slot{uint32(h), l} }

// Leave says that the entity of h is nowhere. The index is not complete yet.
func (i *Index) Leave(h handle.Handle) { *i.slot(h) = Slot{} }

// slot returns the slot of h, in a page of its own: it copies the page of the other index first.
func (i *Index) slot(h handle.Handle) *Slot {
	home, number := int(h.Home()), paged.NumberOf(h)
	p := i.pages.Page(home, number)
	if p == i.from.pages.Page(home, number) { // or neither has it
		own := new(page)
		if p != nil {
			*own = *p
		}
		i.pages.Put(h, own)
		p = own
	}
	return p.At(h)
}

// Complete makes the index ready for look-ups. Nothing can be entered any more.
func (i *Index) Complete() *Index {
	for home, table := range i.pages.Homes {
		for n, p := range table {
			if p == nil { // a Lookup does not check for that
				table[n] = &noPage
			}
		}
		if len(table) > 0 {
			i.enter(uint32(home), table)
		}
	}
	i.from = nil
	return i
}
