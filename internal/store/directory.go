package store

import (
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
)

const (
	pageBits = 10
	pageSize = 1 << pageBits
	// pageShift takes a handle to its page, with the home above it.
	pageShift = handle.VersionBits + pageBits
	pagesMax  = 1 << (handle.IndexBits - pageBits) // of a home
	// refBits is the size of a directoryRef, as a shift. refShift takes a handle to the offset
	// of its home's directoryRef.
	refBits  = 4
	refShift = handle.VersionBits + handle.IndexBits - refBits

	pointerBytes = 4 << (^uintptr(0) >> 63)
)

// page is 1024 neighbouring slots of one home.
type page [pageSize]Slot

// Lookup takes handles to slots and locations. It is the directory of a space: all
// copies of it find the same slots.
//
//	handle ──home──▶ directoryRef ──index / 1024──▶ page ──index % 1024──▶ Slot
//
// The homes of a world are fixed when it is made, so their entries stay where they are,
// and a home that grows replaces only its own table.
//
// Ownership: never written after the world is made; see directoryRef for what it leads to.
type Lookup struct {
	refs *directoryRef // the first of n, a power of two; entries without a home have end 0
	mask handle.Handle // n-1, times the size of an entry
}

// directoryRef is a home's entry in the directory. One comparison with end refuses every handle
// that was not made here, whatever its bits.
//
// Invariants: table has a page for every index of the home with handles below end. end
// never shrinks. Pages never move and are never freed. A table that was replaced stays
// valid for its readers.
//
// Ownership: written under the space's lock, end last: a goroutine that loads end and then
// table finds the page of every handle below that end.
type directoryRef struct {
	table atomic.Pointer[*page] // the first of as many as there are pages, or more
	end   atomic.Uint64         // the first handle behind the last slot; 0 for no slots
}

// endless is the end of a home behind which there is no handle. The handle with that value
// is never given: see NewSpace.
const endless = math.MaxUint64

// newLookup makes the directory for so many homes.
func newLookup(homes int) Lookup {
	refs := make([]directoryRef, 1<<bits.Len(uint(homes-1)))
	return Lookup{refs: &refs[0], mask: handle.Handle(len(refs)-1) << refBits}
}

// pages returns the number of pages of a home.
func (l *Lookup) pages(home uint32) int {
	end := l.ref(home).end.Load()
	if end == 0 {
		return 0
	}
	return int((end-1)>>pageShift + 1 - uint64(home)*pagesMax)
}

// enter publishes the table of a home's pages, of which there are n. The space's lock is
// held.
func (l *Lookup) enter(home uint32, table []*page, n int) {
	r, end := l.ref(home), (uint64(home)*pagesMax+uint64(n))<<pageShift
	if end == 0 {
		end = endless
	}
	r.table.Store(&table[0])
	r.end.Store(end) // publishes the entries of table
}

// pagesAtOnce is the highest number of pages of slots that are allocated at one time. Fresh
// memory costs some 20 µs for 64 KB, and a create waits for it.
const pagesAtOnce = 8

// grow adds the next block of pages to a home, half as many as it has. It does nothing if the
// home has more than least pages by now, because several goroutines may find at the same time
// that it lacks one.
func (s *Space) grow(home uint32, least int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	have := s.pages(home)
	if have > least {
		return nil
	}
	limit := int(s.indexMax)>>pageBits + 1
	if have >= limit {
		return s.errIndexes(int(home), 0)
	}
	block := take[page](&s.mu.memory, min(max(1, have/2), pagesAtOnce, limit-have))
	table, n := s.mu.tables[home], have+len(block)
	if n > len(table) {
		table = append(make([]*page, 0, max(n, 2*have)), table...) // the old one stays valid for its readers
		table = table[:cap(table)]
		s.mu.tables[home] = table
	}
	for i := range block {
		table[have+i] = &block[i]
	}
	s.enter(home, table, n)
	return nil
}
