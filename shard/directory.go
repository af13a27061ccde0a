package shard

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/atoll-sim/atoll/handle"
)

const (
	pageBits = 10
	pageSize = 1 << pageBits
	// pageShift takes a handle to its page, with the home above it.
	pageShift = handle.VersionBits + pageBits
	pagesMask = 1<<(handle.IndexBits-pageBits) - 1
	// refBits is the size of a homeRef, as a shift; refShift takes a handle to the offset
	// of its home's.
	refBits  = 4
	refShift = handle.VersionBits + handle.IndexBits - refBits

	pointerBytes = 4 << (^uintptr(0) >> 63)
)

// page is 1024 slots in a row of one home.
type page [pageSize]Slot

// homeRef is a home's entry in the directory. One comparison with end refuses every handle
// that was not made here, whatever its bits.
//
// Invariants: every index of the home below end has a page in table. end never shrinks.
// Pages never move and are never freed. A table that was replaced stays valid for its
// readers.
//
// Ownership: written under the space's lock, end last, and read atomically: who loads end
// and then table finds the page of every index below that end.
type homeRef struct {
	table unsafe.Pointer // *[n]*page; n is the number of pages, rounded up to a power of two
	end   atomic.Uint64  // home and index behind the last slot, as in a handle without version; 0 for no slots
}

// The size of a homeRef is what refBits says.
var _ [0]struct{} = [unsafe.Sizeof(homeRef{}) - 1<<refBits]struct{}{}

// pages returns the number of pages of a home.
func (l *Lookup) pages(home uint32) int {
	end := l.ref(home).end.Load()
	if end == 0 {
		return 0
	}
	return int((end - uint64(home)<<handle.IndexBits) >> pageBits)
}

// extend enters further pages of a home. The space's lock is held.
func (l *Lookup) extend(home uint32, block []page) {
	r, have := l.ref(home), l.pages(home)
	n, table := have+len(block), r.entries(have)
	if n > len(table) {
		table = append(make([]*page, 0, 1<<bits.Len(uint(n-1))), table...)
		table = table[:cap(table)]
		r.setEntries(table)
	}
	for i := range block {
		table[have+i] = &block[i]
	}
	// Publishes the table and its entries.
	r.end.Store(uint64(home)<<handle.IndexBits + uint64(n)<<pageBits)
}
