package slots

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
)

// This file is what a log of inputs records of the port allocator, and how another world follows
// that. No slot says which handles ports have in their hands, and the log does not either: the
// creates say which of them were used.

// Note begins or ends recording the handles that are recalled. The world must be idle.
func (o *PortAllocator) Note(on bool) { o.noting, o.recalls = on, nil }

// TakeRecalls appends to dst the handles that the last Restock took back. Refresh
// only.
func (o *PortAllocator) TakeRecalls(dst []handle.Handle) []handle.Handle {
	dst = append(dst, o.recalls...)
	o.recalls = o.recalls[:0]
	return dst
}

// Drawn returns how many indexes ports have ever taken. Safe from any goroutine.
func (o *PortAllocator) Drawn() uint32 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return uint32(o.mu.drawn)
}

// Settled returns how many indexes had been drawn at the cut of the newest refresh. What systems see
// may depend on this number. No state of the idle world that is saved since has fewer. Safe from
// any goroutine; it never blocks.
func (o *PortAllocator) Settled() uint32 { return uint32(o.settled.Load()) }

// Follow sets the state in which so many indexes were drawn, all of them by ports of another world.
// Handles that were recalled before, and are not freed yet, must be recalled again. No port may
// take any until Reopen. It returns an error if more were drawn before, or if there are fewer
// indexes than that.
func (o *PortAllocator) Follow(drawn uint32) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.mu.drawn
	if uint64(drawn) < before || uint64(drawn) > o.indexes() {
		return fmt.Errorf("world: %d handles were drawn, of %d at most; now it would be %d", before, o.indexes(), drawn)
	}
	o.mu.pool = o.mu.pool[:0]         // Reopen fills it again
	o.mu.recalled = o.mu.recalled[:0] // the log also has those of an image
	if err := o.reach(int(uint64(drawn) - before)); err != nil {
		return err
	}
	o.mu.drawn = uint64(drawn)
	o.drew.Store(true)
	return nil
}

// Pending reports whether h is a handle that a port may have in its hand, or may have given out,
// and for which no atom is stored.
func (o *PortAllocator) Pending(h handle.Handle) bool {
	slot := o.dir.Slot(h)
	return slot != nil && h.Home() == o.id && slot.ToCome(h)
}

// Reopen fills the pool from the slots, at the end of a replay, in which no port drew. Each free
// slot gets its next version, because the recorded world may have given out the handle with the
// present one. The world is idle.
func (o *PortAllocator) Reopen() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.pool, o.mu.recalled, o.due = o.mu.pool[:0], o.mu.recalled[:0], o.due[:0] // rebuilt below
	o.recalled.Store(false)
	o.settled.Store(o.mu.drawn)
	for n := o.mu.drawn; n > 0; n-- {
		h, state := o.at(uint32(n - 1))
		if state != StateUnused {
			continue
		}
		if next, ok := o.dir.Slot(h).free(h, o.dir.versions); ok {
			o.mu.pool = append(o.mu.pool, next)
		} else {
			o.retired++
		}
	}
}

// at returns the n-th handle that was drawn, according to its slot.
func (o *PortAllocator) at(n uint32) (handle.Handle, State) {
	h := Compose(o.id, n, 0)
	version, state := unpack(o.dir.Slot(h).Load(), h)
	return h | handle.Handle(max(version, 1)), state
}
