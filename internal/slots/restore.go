package slots

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
	dir  *Directory
	next []uint32 // of each home: one more than the highest index that was given
	out  *PortAllocator
}

// NewRestore begins a restore. It returns ErrUsed if a handle was given before.
func NewRestore(out *PortAllocator) (*Restore, error) {
	d := out.dir
	if !out.shut() {
		return nil, fmt.Errorf("%w; restore into a world that is new", ErrUsed)
	}
	for _, home := range d.homes {
		if home.given > 0 {
			out.open()
			return nil, fmt.Errorf("%w; restore into a world that is new", ErrUsed)
		}
	}
	return &Restore{dir: d, next: make([]uint32, len(d.homes)), out: out}, nil
}

// Claim makes sure that a handle's slot exists and was not given. The caller then gives the
// handle; until it does, the slot counts as not given.
func (r *Restore) Claim(h handle.Handle) error {
	d := r.dir
	switch home := h.Shard(); {
	case h.Version() == 0:
		return fmt.Errorf("%w: %v has no version", ErrHandle, uint64(h))
	case int(home) >= len(d.homes):
		return fmt.Errorf("%w: %v is of home %d, of %d that there are", ErrHandle, h, home, len(d.homes))
	case h.Index() > d.indexMax:
		return fmt.Errorf("%w: %v is beyond IndexMax = %d", ErrHandle, h, d.indexMax)
	case h.Version() > d.versions.last:
		return fmt.Errorf("%w: the version of %v is above %d", ErrHandle, h, d.versions.last)
	}
	for d.Slot(h) == nil {
		if err := r.dir.homes[h.Shard()].grow(); err != nil {
			return err
		}
	}
	if d.Slot(h).Load() != 0 {
		return fmt.Errorf("%w: that of %v", ErrGiven, h)
	}
	r.next[h.Shard()] = max(r.next[h.Shard()], h.Index()+1)
	return nil
}

// Free makes a claimed handle the next one of its slot. Its home gives it before all that
// were freed earlier.
func (r *Restore) Free(h handle.Handle) {
	r.dir.Slot(h).Store(word(h, StateUnused))
	home := r.dir.homes[h.Shard()]
	home.free = append(home.free, h.Index())
}

// Retire retires the slot of a claimed handle, which was its last.
func (r *Restore) Retire(h handle.Handle) {
	r.dir.Slot(h).Store(word(h, StateRetired))
	r.dir.homes[h.Shard()].retired++
}

// Finish frees the slots that lie between those that were given. Their homes give them after
// all that were freed, in ascending order.
func (r *Restore) Finish() {
	for i, home := range r.dir.homes {
		freed := home.free
		home.free = nil
		for n := int(r.next[i]) - 1; n >= 0; n-- {
			h := Compose(uint32(i), uint32(n), 1)
			if slot := r.dir.Slot(h); slot.Load() == 0 {
				slot.Store(word(h, StateUnused))
				home.free = append(home.free, h.Index())
			}
		}
		home.free = append(home.free, freed...)
		home.given = r.next[i]
	}
	r.out.fill(r.next[len(r.dir.homes)-1])
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
		h, _ := o.Next(o.Pop())
		o.mu.pool = append(o.mu.pool, h)
	}
	slices.Reverse(o.mu.pool)
	o.free = nil
}
