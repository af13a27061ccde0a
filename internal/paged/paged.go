// Package paged finds a word for a handle, whatever its version, by three steps:
//
//	handle ──home──▶ table ──index / 1,024──▶ page ──index % 1,024──▶ word
//
// The table of a home is as long as its own highest page needs, so a home with many entities costs
// the others nothing. A page that nobody needs yet is missing: nil.
package paged

import (
	"slices"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
)

const (
	Bits      = 10        // of an index, for the word within a page
	Size      = 1 << Bits // the number of words in a page
	PageShift = handle.VersionBits + Bits
	HomeShift = handle.VersionBits + handle.IndexBits
	PagesMax  = 1 << (handle.IndexBits - Bits) // of a home
)

// Page has the words of 1,024 neighbouring indexes of a home.
type Page[W any] [Size]W

// At returns the word of a handle that is on the page.
func (p *Page[W]) At(h handle.Handle) *W { return &p[h>>handle.VersionBits%Size] }

// NumberOf returns the number of the page in its home that h is on.
func NumberOf(h handle.Handle) int { return int(h >> PageShift % PagesMax) }

// First returns the handle of the first word of a page, with version 0.
func First(home, number int) handle.Handle {
	return handle.Handle(home)<<HomeShift | handle.Handle(number)<<PageShift
}

// Words are words that one goroutine at a time uses.
//
// Ownership: one goroutine. While nobody writes, any goroutine may read.
type Words[W any] struct {
	Homes [][]*Page[W] // the tables; nil for a missing page
	Pages int          // how many there are
}

// At returns the word of h, or nil if its page is missing. It is small enough to be inlined.
func (w *Words[W]) At(h handle.Handle) *W {
	if home := h >> HomeShift; home < handle.Handle(len(w.Homes)) {
		table := w.Homes[home]
		if i := h >> PageShift % PagesMax; i < handle.Handle(len(table)) && table[i] != nil {
			return table[i].At(h)
		}
	}
	return nil
}

// Table returns the table of a home, which is empty if nothing was put into it.
func (w *Words[W]) Table(home int) []*Page[W] {
	if home < len(w.Homes) {
		return w.Homes[home]
	}
	return nil
}

// Page returns a page of a home, or nil if it is missing.
func (w *Words[W]) Page(home, number int) *Page[W] {
	if table := w.Table(home); number < len(table) {
		return table[number]
	}
	return nil
}

// Put puts in the page that h is on. Only behind its end does it write a table that it makes
// longer, so readers may still use the shorter one. The owner calls it.
func (w *Words[W]) Put(h handle.Handle, p *Page[W]) {
	home, number := int(h>>HomeShift), NumberOf(h)
	w.reach(home + 1)
	for len(w.Homes[home]) <= number {
		w.Homes[home] = append(w.Homes[home], nil)
	}
	if w.Homes[home][number] == nil {
		w.Pages++
	}
	w.Homes[home][number] = p
}

// Clone returns a copy of the tables, with the same pages.
func (w *Words[W]) Clone() Words[W] {
	c := Words[W]{slices.Clone(w.Homes), w.Pages}
	for home, table := range c.Homes {
		c.Homes[home] = slices.Clone(table)
	}
	return c
}

// Reserve makes room in the tables of the first homes for so many more pages of each. After that,
// Put of these pages allocates nothing.
func (w *Words[W]) Reserve(homes, pages int) {
	w.reach(homes)
	for i := range w.Homes[:homes] {
		w.Homes[i] = slices.Grow(w.Homes[i], pages)
	}
}

// reach makes room for the tables of so many homes.
func (w *Words[W]) reach(homes int) {
	if n := homes - len(w.Homes); n > 0 {
		w.Homes = append(w.Homes, make([][]*Page[W], n)...)
	}
}

// All yields all pages with their first handles, of version 0, in ascending order.
func (w *Words[W]) All(yield func(handle.Handle, *Page[W]) bool) {
	for home, table := range w.Homes {
		for number, p := range table {
			if p != nil && !yield(First(home, number), p) {
				return
			}
		}
	}
}

// Shared are words that any goroutine may look up at any time, without a lock. What is in a word is
// up to its type.
//
// Ownership: Reach excludes Reach, Make and Clear.
type Shared[W any] struct {
	homes []atomic.Pointer[[]atomic.Pointer[Page[W]]]
}

// NewShared makes the tables of a fixed number of homes, without a page.
func NewShared[W any](homes int) Shared[W] {
	return Shared[W]{make([]atomic.Pointer[[]atomic.Pointer[Page[W]]], homes)}
}

// Homes returns the number of homes.
func (s *Shared[W]) Homes() int { return len(s.homes) }

// At returns the word of h, or nil if its page is missing. The home must exist.
func (s *Shared[W]) At(h handle.Handle) *W {
	if table := s.homes[h>>HomeShift].Load(); table != nil {
		if i := h >> PageShift % PagesMax; i < handle.Handle(len(*table)) {
			if p := (*table)[i].Load(); p != nil {
				return p.At(h)
			}
		}
	}
	return nil
}

// Reach makes the table of a home long enough for so many pages. One goroutine at a time calls it;
// others may look up meanwhile.
func (s *Shared[W]) Reach(home uint32, pages int) {
	old := s.homes[home].Load()
	if old == nil {
		old = new([]atomic.Pointer[Page[W]])
	}
	if pages <= len(*old) {
		return
	}
	table := make([]atomic.Pointer[Page[W]], pages)
	for i := range *old {
		table[i].Store((*old)[i].Load())
	}
	s.homes[home].Store(&table) // readers may still use the old one
}

// Make returns the word of h, and makes its page if that is missing. The table must reach it. Any
// goroutine may call it at any time but in a Reach or a Clear.
func (s *Shared[W]) Make(h handle.Handle) *W {
	at := &(*s.homes[h>>HomeShift].Load())[h>>PageShift%PagesMax]
	if p := at.Load(); p != nil {
		return p.At(h)
	}
	at.CompareAndSwap(nil, new(Page[W])) // unless another goroutine has made it in the meantime
	return at.Load().At(h)
}

// Clear forgets all pages. The caller knows that nobody calls Reach or Make.
func (s *Shared[W]) Clear() {
	for i := range s.homes {
		s.homes[i].Store(nil)
	}
}
