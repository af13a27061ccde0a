package slots

import "slices"

// FreeList returns the free indexes; the last is given next.
func (h *Allocator) FreeList() []uint32 { return h.free }

// AppendSlots appends the contents of all slots that were ever given, state and
// version, in the order in which they first were. For the home's owner.
func (h *Allocator) AppendSlots(dst []uint32) []uint32 {
	dst = slices.Grow(dst, int(h.given))
	for i := range h.given {
		dst = append(dst, h.ref.slot(i).Load())
	}
	return dst
}

// AppendUses appends for each slot how often it was used until now: its version while the
// entity lives, the number of its uses while it is free or a port has it in hand. Slots are in the order in
// which they are first drawn; those at the end that were never used are left out. So the
// result depends only on what refreshes have done, whatever ports draw meanwhile.
func (o *PortAllocator) AppendUses(dst []uint32) []uint32 {
	last := len(dst)
	for n := range o.Drawn() {
		dst = append(dst, o.uses(n))
		if dst[len(dst)-1] > 0 {
			last = len(dst)
		}
	}
	return dst[:last]
}

func (o *PortAllocator) uses(n uint32) uint32 {
	h, state := o.at(n)
	if state == StateUnused {
		return h.Version() - o.dir.versions.first
	}
	return h.Version()
}
