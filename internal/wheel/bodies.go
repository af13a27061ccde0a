package wheel

import (
	"math/bits"
	"reflect"
)

// Bodies are the values that belong to the entries of a Wheel, by index, in pages of 64 KB. A page
// exists once an entry was in it.
//
// Ownership: as for the Wheel.
type Bodies[M any] struct {
	pages [][]M
	bits  int // a page has 1<<bits
}

// NewBodies returns Bodies without pages.
func NewBodies[M any]() Bodies[M] {
	size := max(1, reflect.TypeFor[M]().Size())
	return Bodies[M]{bits: min(pageBits, max(0, bits.Len64(bodyBytes/uint64(size))-1))}
}

const bodyBytes = 64 << 10

// At returns where the body at an index is, and makes its page on the first call.
func (b *Bodies[M]) At(index int) *M {
	page := index >> b.bits
	for page >= len(b.pages) {
		b.pages = append(b.pages, nil)
	}
	if b.pages[page] == nil {
		b.pages[page] = make([]M, 1<<b.bits)
	}
	return &b.pages[page][index&(1<<b.bits-1)]
}
