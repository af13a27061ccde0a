package interest

import (
	"math/bits"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/paged"
	"github.com/atoll-sim/atoll/internal/slots"
)

// table finds pairs of a client by their handles, when their rows do not identify them. Clients use
// it one after the other.
type table struct {
	pairs *pairs
	slots []uint32 // slots, plus 1, or 0: a power of two
	all   []uint32 // the memory
	shift int
	n     int
	most  int // the largest size in this Update
	small int // Updates in a row in which all sizes were far smaller than the memory
}

// After so many small Updates the memory is given back. One is not enough: an Update has small and
// large clients.
const smallMost = 64

// rest ends an Update, and gives back memory that was not used for long.
func (t *table) rest() {
	if t.small++; len(t.all) <= 1<<14 || len(t.all) <= 64*t.most {
		t.small = 0
	}
	if t.most = 0; t.small >= smallMost {
		t.all, t.small = nil, 0
	}
}

// begin fills the table with the pairs that were not seen in the Update last, with room for
// more.
func (t *table) begin(p *pairs, more int, last uint32) {
	size := 1 << bits.Len(uint(2*(len(p.all)+more)+15))
	if size > len(t.all) {
		t.all = make([]uint32, size)
	}
	t.most = max(t.most, size)
	t.slots, t.shift, t.n, t.pairs = t.all[:size], 64-bits.Len(uint(size-1)), 0, p
	clear(t.slots)
	for slot := range p.all {
		if h := p.all[slot].handle; h != handle.None && p.all[slot].seen != last {
			t.put(h, slot)
		}
	}
}

// full reports whether begin must be called before more pairs are put.
func (t *table) full() bool { return 2*t.n > len(t.slots) }

func (t *table) put(h handle.Handle, slot int) {
	mask := uint64(len(t.slots) - 1)
	i := hash(h, t.shift) & mask
	for t.slots[i] != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = uint32(slot) + 1
	t.n++
}

// slot returns the slot of a handle, or -1.
func (t *table) slot(h handle.Handle) int {
	mask := uint64(len(t.slots) - 1)
	for i := hash(h, t.shift) & mask; ; i = (i + 1) & mask {
		slot := int(t.slots[i]) - 1
		if slot < 0 || t.pairs.all[slot].handle == h {
			return slot
		}
	}
}

func hash(h handle.Handle, shift int) uint64 { return uint64(h) * 0x9e3779b97f4a7c15 >> shift }

// marks has for each slot the last Update in which its entity was seen, and in the lower half the
// number of its row in that Update. Setting it publishes the row, except for the fields that done
// publishes.
//
// Ownership: any worker; between Updates the goroutine that calls the next one.
type marks struct{ paged.Shared[atomic.Uint64] }

// fit makes room for the slots of all homes, so many, and returns how many slots there are.
func (m *marks) fit(of *slots.Lookup, homes int) (n int) {
	if m.Homes() < homes { // the world was loaded since
		m.Shared = paged.NewShared[atomic.Uint64](homes)
	}
	for home := range uint32(min(homes, of.Most())) {
		pages := of.Pages(home)
		m.Reach(home, pages)
		n += pages * paged.Size
	}
	return n
}
