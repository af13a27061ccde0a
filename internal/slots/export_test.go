package slots

import "github.com/atoll-sim/atoll/handle"

// FullHome makes a directory in which one home has all of its slots, and returns what says
// whether an entity is alive, each being that of the handle asked for last, and whether a
// handle has a slot.
func FullHome(home uint32) (alive, hasSlot func(handle.Handle) bool) {
	l, table, slots := newLookup(handle.HomeMax+1), make([]*page, pagesMax), new(page)
	for i := range table {
		table[i] = slots
	}
	l.enter(home, table)
	if l.Pages(home) != pagesMax {
		panic("not all pages")
	}
	hasSlot = func(h handle.Handle) bool { return l.Slot(h) != nil }
	return func(h handle.Handle) bool {
		slots[h.Index()%pageSize].Store(uint32(h))
		return l.Alive(h)
	}, hasSlot
}

// Hands is a PortAllocator whose hands are slices.
type Hands struct{ *PortAllocator }

// Take appends to dst what a hand gets.
func (o Hands) Take(dst []handle.Handle, n, most int) ([]handle.Handle, error) {
	var d Hand
	err := o.PortAllocator.Take(&d, 0, n, most)
	return append(dst, d.all...), err
}

// Put is Put of a hand with these handles; it returns what is left in that.
func (o Hands) Put(hs []handle.Handle, most int) []handle.Handle {
	d := Hand{all: hs, left: uint32(len(hs))}
	o.PortAllocator.Put(&d, most)
	return d.all
}

// Leave is Leave of a hand with these handles.
func (o Hands) Leave(hs []handle.Handle) {
	o.PortAllocator.Leave(&Hand{all: hs, left: uint32(len(hs))})
}
