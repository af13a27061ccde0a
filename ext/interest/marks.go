package interest

import (
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/slots"
)

// marks map the slot of an entity's handle to the number of its row.
//
// Ownership: any worker; between Updates the goroutine that calls the next one.
type marks struct {
	homes [][]atomic.Pointer[markPage] // by index / pageSlots
}

const pageSlots = slots.PageSlots

// markPage has for each slot the last Update in which its entity was seen, and in the lower half
// the number of its row in that Update. Setting it publishes the row, except for the fields that
// done publishes.
type markPage [pageSlots]atomic.Uint64

// fit makes room for the slots of all homes, and returns how many there are.
func (m *marks) fit(of *slots.Lookup) (n int) {
	for home := range m.homes {
		pages := of.Pages(uint32(home))
		for len(m.homes[home]) < pages {
			m.homes[home] = append(m.homes[home], atomic.Pointer[markPage]{})
		}
		n += pages * pageSlots
	}
	return n
}

// of returns the mark of an entity.
func (m *marks) of(h handle.Handle) *atomic.Uint64 {
	at := &m.homes[h.Shard()][h.Index()/pageSlots]
	if p := at.Load(); p != nil {
		return &p[h.Index()%pageSlots]
	}
	at.CompareAndSwap(nil, new(markPage))
	return &at.Load()[h.Index()%pageSlots]
}
