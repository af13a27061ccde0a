package slots

import "slices"

// FreeList returns the free indexes; the last is given first.
func (a *Allocator) FreeList() []uint32 { return a.free }

// AppendSlots appends the contents of all slots that were ever given, state and version, in the
// order in which they were first given. Only the home's owner may call it.
func (a *Allocator) AppendSlots(dst []uint32) []uint32 {
	dst = slices.Grow(dst, int(a.given))
	for i := range a.given {
		dst = append(dst, a.ref.slot(i).Load())
	}
	return dst
}

// AppendUses appends for each slot how often it has been used: its version while the entity lives,
// the number of its uses while it is free or in the hand of a port. Slots are in the order in
// which they are first drawn. Slots at the end that were never used are left out. So the result
// depends only on what refreshes have done, and not on what ports draw meanwhile.
func (p *PortAllocator) AppendUses(dst []uint32) []uint32 {
	last := len(dst)
	for n := range p.Drawn() {
		dst = append(dst, p.uses(n))
		if dst[len(dst)-1] > 0 {
			last = len(dst)
		}
	}
	return dst[:last]
}

func (p *PortAllocator) uses(n uint32) uint32 {
	h, state := p.at(n)
	if state == StateUnused {
		return h.Version() - p.dir.versions.first
	}
	return h.Version()
}
