package slots

import "slices"

// FreeList returns the free indexes; the last is given first.
func (h *Allocator) FreeList() []uint32 { return h.free }

// AppendSlots appends the contents of all slots that were ever given, state and version, in the
// order in which they were first given. Only the home's owner may call it.
func (h *Allocator) AppendSlots(dst []uint32) []uint32 {
	dst = slices.Grow(dst, int(h.given))
	for i := range h.given {
		dst = append(dst, h.ref.slot(i).Load())
	}
	return dst
}

// AppendUses appends for each slot how often it has been used: its version while the entity lives,
// the number of its uses while it is free or in the hand of a port. Slots are in the order in
// which they are first drawn. Slots at the end that were never used are left out. So the result
// depends only on what refreshes have done, and not on what ports draw meanwhile.
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
