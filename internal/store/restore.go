package store

import (
	"errors"
	"fmt"
	"slices"

	"github.com/atoll-sim/atoll/handle"
)

// Errors for handles that cannot be given again.
var (
	// ErrRestore is what the other errors of a restore wrap.
	ErrRestore = errors.New("world: cannot restore")
	// ErrHandle is returned for a handle that this world never gives.
	ErrHandle = fmt.Errorf("%w: no handle of this world", ErrRestore)
	// ErrGiven is returned for a handle if its slot was given already.
	ErrGiven = fmt.Errorf("%w: slot is given already", ErrRestore)
	// ErrUsed is returned when handles are given again in a world that has given some.
	ErrUsed = fmt.Errorf("%w: handles were given before", ErrRestore)
)

// Restore gives the handles that another world had given. Between NewRestore and
// Finish the homes give no others.
//
// Invariants: a slot with generation 0 was not given.
//
// Ownership: one goroutine, of an idle world, while no port is in use.
type Restore struct {
	space *Space
	homes []*Allocator // by number
	next  []uint32     // of each: one more than the highest index that was given
	out   *PortAllocator
}

// NewRestore begins a restore. It returns ErrUsed if a handle was given before.
func NewRestore(space *Space, shards []*Shard, out *PortAllocator) (*Restore, error) {
	r := &Restore{space: space, next: make([]uint32, space.homes), out: out}
	shut := out.shut()
	used := !shut
	for _, s := range shards {
		r.homes = append(r.homes, &s.Allocator)
		used = used || s.given > 0 || s.tally.created > 0
	}
	r.homes = append(r.homes, &out.Allocator)
	if used {
		if shut {
			out.open()
		}
		return nil, fmt.Errorf("%w; restore into a world that is new", ErrUsed)
	}
	return r, nil
}

// Claim makes sure that a handle's slot exists and was not given. The caller then gives the
// handle; until it does, the slot counts as not given.
func (r *Restore) Claim(h handle.Handle) error {
	s := r.space
	switch home := h.Shard(); {
	case h.Version() == 0:
		return fmt.Errorf("%w: %v has no version", ErrHandle, uint64(h))
	case int(home) >= s.homes:
		return fmt.Errorf("%w: %v is of home %d, of %d that there are", ErrHandle, h, home, s.homes)
	case h.Index() > s.indexMax:
		return fmt.Errorf("%w: %v is beyond IndexMax = %d", ErrHandle, h, s.indexMax)
	case h.Version() > s.versionMax:
		return fmt.Errorf("%w: the version of %v is above VersionMax = %d", ErrHandle, h, s.versionMax)
	}
	for s.slot(h) == nil {
		if err := r.homes[h.Shard()].grow(); err != nil {
			return err
		}
	}
	if s.slot(h).load() != 0 {
		return fmt.Errorf("%w: that of %v", ErrGiven, h)
	}
	r.next[h.Shard()] = max(r.next[h.Shard()], h.Index()+1)
	return nil
}

// Free makes a claimed handle the next one of its slot. Its home gives it before all that
// were freed earlier.
func (r *Restore) Free(h handle.Handle) {
	r.space.slot(h).store(word(h, StateUnused))
	home := r.homes[h.Shard()]
	home.free = append(home.free, h.Index())
}

// Retire retires the slot of a claimed handle, which was its last.
func (r *Restore) Retire(h handle.Handle) {
	r.space.slot(h).store(word(h, StateRetired))
	r.homes[h.Shard()].retired++
}

// Finish frees the slots that lie between those that were given. Their homes give them after
// all that were freed, in ascending order.
func (r *Restore) Finish() {
	for i, home := range r.homes {
		freed := home.free
		home.free = nil
		for n := int(r.next[i]) - 1; n >= 0; n-- {
			h := compose(uint32(i), uint32(n), 1)
			if slot := r.space.slot(h); slot.load() == 0 {
				slot.store(word(h, StateUnused))
				home.free = append(home.free, h.Index())
			}
		}
		home.free = append(home.free, freed...)
		home.given = r.next[i]
	}
	r.out.fill(r.next[len(r.homes)-1])
}

// shut refuses handles to ports until open. If ports have taken some, or it is shut already,
// it does nothing and returns false.
func (o *PortAllocator) shut() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.closed || o.mu.drawn > 0 {
		return false
	}
	o.mu.closed = true
	return true
}

func (o *PortAllocator) open() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.closed = false
}

// fill moves the free list into the pool, sets the number of drawn indexes, and lets ports
// take handles again.
func (o *PortAllocator) fill(drawn uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.mu.closed = false
	o.mu.drawn = uint64(drawn)
	for len(o.free) > 0 {
		h, _ := o.next(o.pop())
		o.mu.pool = append(o.mu.pool, h)
	}
	slices.Reverse(o.mu.pool)
	o.free = nil
}

// AppendVacant appends to free the handles that the free slots of a home give next, in the
// order in which Restore.Free must get them for the same free list. It appends to retired the
// last handles of retired slots.
func (h *Allocator) AppendVacant(free, retired []handle.Handle) (_, _ []handle.Handle) {
	for _, i := range h.free {
		at, _ := h.next(i)
		free = append(free, at)
	}
	if h.retired == 0 {
		return free, retired
	}
	for n := range h.given {
		at := compose(h.id, n, 0)
		if version, state := unpack(h.space.slot(at).load(), at); state == StateRetired {
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
			case h.Version() < o.space.versionMax:
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
