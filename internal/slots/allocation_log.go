package slots

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
)

// This file is what a log of inputs records of the port allocator, and how another world follows
// that. No slot says which handles ports have in their hands, and the log does not either: the
// creates say which of them were used.

// Note begins or ends recording the handles that are recalled. The world must be idle.
func (p *PortAllocator) Note(on bool) { p.noting, p.recalls = on, nil }

// TakeRecalls appends to dst the handles that the last Restock took back. Refresh
// only.
func (p *PortAllocator) TakeRecalls(dst []handle.Handle) []handle.Handle {
	dst = append(dst, p.recalls...)
	p.recalls = p.recalls[:0]
	return dst
}

// Drawn returns how many indexes ports have ever taken. Safe from any goroutine.
func (p *PortAllocator) Drawn() uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return uint32(p.mu.drawn)
}

// Settled returns how many indexes had been drawn at the cut of the newest refresh. What systems see
// may depend on this number. No state of the idle world that is saved since has fewer. Safe from
// any goroutine; it never blocks.
func (p *PortAllocator) Settled() uint32 { return uint32(p.settled.Load()) }

// Follow sets the state in which so many indexes were drawn, all of them by ports of another world.
// Handles that were recalled before, and are not freed yet, must be recalled again. No port may
// take any until Reopen. It returns an error if more were drawn before, or if there are fewer
// indexes than that.
func (p *PortAllocator) Follow(drawn uint32) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.mu.drawn
	if uint64(drawn) < before || uint64(drawn) > p.indexes() {
		return fmt.Errorf("world: %d handles were drawn, of %d at most; now it would be %d", before, p.indexes(), drawn)
	}
	p.mu.pool = p.mu.pool[:0]         // Reopen fills it again
	p.mu.recalled = p.mu.recalled[:0] // the log also has those of an image
	if err := p.reach(int(uint64(drawn) - before)); err != nil {
		return err
	}
	p.mu.drawn = uint64(drawn)
	p.drew.Store(true)
	return nil
}

// Pending reports whether h is a handle that a port may have in its hand, or may have given out,
// and for which no atom is stored.
func (p *PortAllocator) Pending(h handle.Handle) bool {
	slot := p.dir.Slot(h)
	return slot != nil && h.Home() == p.id && slot.ToCome(h)
}

// Reopen fills the pool from the slots, at the end of a replay, in which no port drew. Each free
// slot gets its next version, because the recorded world may have given out the handle with the
// present one. The world is idle.
func (p *PortAllocator) Reopen() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.pool, p.mu.recalled, p.due = p.mu.pool[:0], p.mu.recalled[:0], p.due[:0] // rebuilt below
	p.recalled.Store(false)
	p.settled.Store(p.mu.drawn)
	for n := p.mu.drawn; n > 0; n-- {
		h, state := p.at(uint32(n - 1))
		if state != StateUnused {
			continue
		}
		if next, ok := p.dir.Slot(h).free(h, p.dir.versions); ok {
			p.mu.pool = append(p.mu.pool, next)
		} else {
			p.retired++
		}
	}
}

// at returns the n-th handle that was drawn, according to its slot.
func (p *PortAllocator) at(n uint32) (handle.Handle, State) {
	h := Compose(p.id, n, 0)
	version, state := unpack(p.dir.Slot(h).Load(), h)
	return h | handle.Handle(max(version, 1)), state
}
