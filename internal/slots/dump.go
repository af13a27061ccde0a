package slots

import (
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

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

// AppendVacant appends to free the handles that the free slots of a home give next, in the
// order in which Restore.Free must get them for the same free list. It appends to retired the
// last handles of retired slots.
func (h *Allocator) AppendVacant(free, retired []handle.Handle) (_, _ []handle.Handle) {
	for _, i := range h.free {
		at, _ := h.Next(i)
		free = append(free, at)
	}
	if h.retired == 0 {
		return free, retired
	}
	for n := range h.given {
		at := Compose(h.id, n, 0)
		if version, state := unpack(h.dir.Slot(at).Load(), at); state == StateRetired {
			retired = append(retired, at|handle.Handle(version))
		}
	}
	return free, retired
}

// AppendVacant is Allocator.AppendVacant for the slots of ports. A handle that a port has in
// hand may have been given out, so its slot is free with the next version.
func (o *PortAllocator) AppendVacant(free, retired []handle.Handle) (_, _ []handle.Handle) {
	o.mu.Lock()
	defer o.mu.Unlock()
	pool := slices.Sorted(slices.Values(o.mu.pool))
	for n := range uint32(o.mu.drawn) {
		h, state := o.at(n)
		switch state {
		case StateUnused:
			_, nobodyTold := slices.BinarySearch(pool, h)
			switch {
			case nobodyTold:
				free = append(free, h)
			case h.Version() < o.dir.versions.last:
				free = append(free, h+1) // the version is the low field
			default:
				retired = append(retired, h)
			}
		case StateRetired:
			retired = append(retired, h)
		}
	}
	return free, retired
}
