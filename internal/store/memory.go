package store

import (
	"reflect"

	"github.com/atoll-sim/atoll/internal/hugepage"
)

// memory allocates the rows and slots of a world. It uses the Go heap, so that the
// collector frees them and no pointer is left dangling.
//
// Ownership: the space's lock.
type memory struct {
	growth *Growth          // the space's
	asked  map[uintptr]bool // where huge pages were asked for
	noted  int              // how many of those the operating system accepted
}

const (
	// pageBytes is the size of the smallest memory page of any processor.
	pageBytes = 4096
	// largeBytes is the least size of a run of values that is touched when it is taken.
	largeBytes = 16 << 10
)

// take allocates n zeroed values. It touches a large run at once, page by page, so that its
// pages are likely to be neighbours in physical memory as they are in virtual memory. Without
// that, creates would touch the pages of several columns in turns, and pages that alternate
// make a loop over a million entities a tenth slower.
func take[T any](m *memory, n int) []T {
	data := make([]T, n)
	size := int(reflect.TypeFor[T]().Size())
	if n*size < largeBytes {
		return data
	}
	if m.growth.HugePages {
		m.ask(uintptr(baseOf(data)), uintptr(n*size))
	}
	for i := 0; i < n; i += max(1, pageBytes/size) {
		data[i] = *new(T)
	}
	return data
}

// HugePages returns how many huge pages the operating system was asked for.
func (s *Space) HugePages() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.memory.noted
}

// ask asks for the huge pages that some bytes are in. These hold other parts of the heap,
// too: mostly those of the world, because it is the world that grows.
func (m *memory) ask(at, bytes uintptr) {
	size := hugepage.Size()
	if size == 0 {
		return
	}
	if m.asked == nil {
		m.asked = map[uintptr]bool{}
	}
	for page := at &^ (size - 1); page < at+bytes; page += size {
		if !m.asked[page] {
			m.asked[page] = true
			if hugepage.Ask(page) {
				m.noted++
			}
		}
	}
}
