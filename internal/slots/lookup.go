package slots

import (
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/paged"
)

const (
	pageBits = paged.Bits
	pageSize = paged.Size
	// pageShift shifts a handle down to the number of its page, with the home above it.
	pageShift = paged.PageShift
	pagesMax  = paged.PagesMax
	refBits   = 5 // the size of a directoryRef, as a shift

	pointerBits  = 2 + int(^uintptr(0)>>63) // the size of a pointer, as a shift
	pointerBytes = 1 << pointerBits
)

// A shift and a mask each turn a handle into an offset in the directory.
const (
	HomeShift = handle.VersionBits + handle.IndexBits - refBits // of its home's directoryRef; the mask is that of the Lookup
	PageShift = pageShift - pointerBits                         // of its page in the home's table
	PageMask  = (pagesMax - 1) * pointerBytes
	SlotShift = handle.VersionBits - slotBits // of its Slot in the page
	SlotMask  = (pageSize - 1) * slotBytes
)

// Table is the offset of the table's address in a directoryRef. It follows end.
const Table = 8

// page is 1024 neighbouring slots of one home.
type page = paged.Page[Slot]

var pageType = mem.TypeOf[page]()

// Lookup finds slots and locations of handles. All copies of a Lookup find the same slots.
//
//	handle ──home──▶ directoryRef ──index / 1024──▶ page ──index % 1024──▶ Slot
//
// How many homes a world can have is fixed when it is made, so their entries stay where they are,
// and a home that grows replaces only its own table. Of paged.Words a Lookup reads the tables alone,
// because one comparison with end is less than Words.At needs to check home and page.
//
// Ownership: never written after the world is made; see directoryRef for what it refers to.
type Lookup struct {
	Refs mem.Address   // the first of n, a power of two; entries without a home have end 0
	Mask handle.Handle // n-1, times the size of an entry
}

// directoryRef is a home's entry in the directory. One comparison with end rejects every handle
// that was not made here, whatever its bits are.
//
// Invariants: table has a page for every index of the home with handles below end. end never
// shrinks. Pages never move and are never freed. Readers may still use a table that was replaced.
//
// Ownership: written under the directory's lock, end last: a goroutine that loads end and then
// table finds the page of every handle below that end. The shard of the home sets drawn before there
// is an atom with a handle that it draws; the coordinator clears it.
type directoryRef struct {
	end   atomic.Uint64         // one above the highest handle of the last slot; 0 for no slots
	table atomic.Pointer[*page] // the first of as many entries as there are pages, or more
	drawn atomic.Uint32         // not 0: see Lookup.Drawn
	_     [1<<refBits - 8 - pointerBytes - 4]byte
}

// endless is the end of a home with the highest handles of all. The handle with that value is never
// given: see Directory.Init.
const endless = math.MaxUint64

// newLookup makes the directory for a number of homes, none of which has a page.
func newLookup(homes int) Lookup {
	refs := make([]directoryRef, 1<<bits.Len(uint(homes-1)))
	return Lookup{Refs: mem.AddressOf(refs), Mask: handle.Handle(len(refs)-1) << refBits}
}

// Pages returns the number of pages of a home, each of paged.Size slots. Safe from any goroutine.
func (l *Lookup) Pages(home uint32) int {
	end := l.ref(home).end.Load()
	if end == 0 {
		return 0
	}
	return int((end-1)>>pageShift + 1 - uint64(home)*pagesMax)
}

// Most returns how many homes there can be.
func (l *Lookup) Most() int { return int(l.Mask>>refBits) + 1 }

// enter publishes the table of a home's pages. The directory's lock is held.
func (l *Lookup) enter(home uint32, table []*page) {
	r, end := l.ref(home), (uint64(home)*pagesMax+uint64(len(table)))<<pageShift
	if end == 0 {
		end = endless
	}
	r.table.Store(&table[0])
	r.end.Store(end) // publishes the entries of table
}
