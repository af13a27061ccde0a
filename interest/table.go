package interest

import (
	"math/bits"

	"github.com/atoll-sim/atoll/handle"
)

// table finds the pairs of a view by their handles. It is used for one view after the other.
type table struct {
	pairs *pairs
	slots []uint32 // slots, plus 1, or 0: a power of two
	all   []uint32 // the memory
	shift int
	n     int
}

// begin makes it the table of some pairs, with room for more.
func (t *table) begin(p *pairs, more int) {
	size := 1 << bits.Len(uint(2*(len(p.all)+more)+15))
	if size > len(t.all) || len(t.all) > 1<<14 && len(t.all) > 64*size {
		t.all = make([]uint32, size)
	}
	t.slots, t.shift, t.n, t.pairs = t.all[:size], 64-bits.Len(uint(size-1)), 0, p
	clear(t.slots)
	for slot := range p.all {
		if h := p.all[slot].handle; h != handle.None {
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
