package mem

import (
	"sync"

	"github.com/atoll-sim/atoll/internal/hugepage"
)

// Memory allocates the rows and slots of a world. It uses the Go heap, so that the
// collector frees them and no pointer is left dangling.
//
// Ownership: mu guards what is nested with it. HugePages is set before the first allocation.
type Memory struct {
	HugePages bool // ask the operating system for huge pages for large blocks
	mu        struct {
		sync.Mutex
		asked map[uintptr]bool // where huge pages were asked for
		noted int              // how many of those the operating system accepted
	}
}

const (
	// pageBytes is the size of the smallest memory page of any processor.
	pageBytes = 4096
	// LargeBytes is the smallest size of a run of values that is touched, or for which huge pages
	// are asked.
	LargeBytes = 16 << 10
)

// Take allocates n zeroed values of a type, and touches them if they are large. It returns the
// address of the first. Any goroutine may call it.
func (m *Memory) Take(t *Type, n int) Address {
	at := m.Reserve(t, n)
	if n*int(t.Size) >= LargeBytes {
		t.Touch(at, n)
	}
	return at
}

// Reserve allocates n zeroed values. The caller must touch large parts of them before they are
// used. Any goroutine may call it.
func (m *Memory) Reserve(t *Type, n int) Address {
	at := t.New(n)
	if size := n * int(t.Size); m.HugePages && size >= LargeBytes {
		m.ask(uintptr(at), uintptr(size))
	}
	return at
}

// Touch writes to each page of zeroed values, so that the pages are likely to be neighbours in
// physical memory as they are in virtual memory. Without that, creates would touch the pages of
// several columns in turns. Pages that alternate in this way make a loop over a million entities 5
// % slower. Nobody else may use the values yet.
func (t *Type) Touch(at Address, n int) {
	if t.Size == 0 {
		return
	}
	for i := 0; i < n; i += max(1, pageBytes/int(t.Size)) {
		t.Clear(t.At(at, i), 1)
	}
}

// TouchPart touches the values [from, to) of n that were allocated together, if those are large.
func (t *Type) TouchPart(at Address, n, from, to int) {
	if n*int(t.Size) >= LargeBytes {
		t.Touch(t.At(at, from), to-from)
	}
}

// Asked returns how many huge pages the operating system was asked for.
func (m *Memory) Asked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.noted
}

// ask asks for the huge pages that some bytes are in. These also hold other parts of the heap, but
// mostly those of the world, because it is the world that grows. It takes the lock.
func (m *Memory) ask(at, bytes uintptr) {
	size := hugepage.Size()
	if size == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.asked == nil {
		m.mu.asked = map[uintptr]bool{}
	}
	for page := at &^ (size - 1); page < at+bytes; page += size {
		if !m.mu.asked[page] {
			m.mu.asked[page] = true
			if hugepage.Ask(page) {
				m.mu.noted++
			}
		}
	}
}
