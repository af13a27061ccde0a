package shard

import (
	"github.com/atoll-sim/atoll/handle"
)

// Home hands out the slots of one shard and takes them back.
//
// Invariants: an index is in the free list, held by a live or pending handle,
// retired, or at or above next. A free index is handed out with a higher
// version than it ever had.
//
// Ownership: the shard's owner; see Outside for the home that any goroutine may
// draw from.
type Home struct {
	space   *Space
	id      uint32
	next    uint32 // first index never given
	free    []uint32
	pages   []*[pageSize]Slot
	retired int
}

func newHome(space *Space, id int) Home { return Home{space: space, id: uint32(id)} }

// take gives a handle and its slot, whose gen is not written yet.
func (h *Home) take() (handle.Handle, *Slot, error) {
	if n := len(h.free); n > 0 {
		i := h.free[n-1]
		h.free = h.free[:n-1]
		slot := &h.pages[i>>pageBits][i%pageSize]
		return compose(h.id, i, slot.gen.Load()&versionMask), slot, nil
	}
	return h.takeFresh()
}

func (h *Home) takeFresh() (handle.Handle, *Slot, error) {
	i := h.next
	if int(i>>pageBits) == len(h.pages) {
		if err := h.grow(); err != nil {
			return 0, nil, err
		}
	}
	if i > h.space.indexMax {
		return 0, nil, h.space.errIndexes(int(h.id))
	}
	h.next++
	return compose(h.id, i, 1), &h.pages[i>>pageBits][i%pageSize], nil
}

func (h *Home) grow() error {
	fresh, err := h.space.grow(int(h.id))
	if err != nil {
		return err
	}
	h.pages = append(h.pages, fresh...)
	return nil
}

// reserve makes room for n more handles.
func (h *Home) reserve(n int) error {
	for room := len(h.free) + len(h.pages)*pageSize - int(h.next); room < n; {
		if err := h.grow(); err != nil {
			return err
		}
		room = len(h.free) + len(h.pages)*pageSize - int(h.next)
	}
	return nil
}

// recycle takes back the slot of a handle whose atom is gone: the version
// grows, and with it every copy of the handle becomes stale.
func (h *Home) recycle(dead handle.Handle) {
	i := dead.Index()
	slot := h.space.slot(dead)
	if dead.Version() >= h.space.versionMax {
		slot.gen.Store(word(dead, StateRetired))
		h.retired++
		return
	}
	slot.gen.Store(word(dead+1, StateUnused)) // the version is the low field
	h.free = append(h.free, i)
}

// Free returns the number of indexes in the free list.
func (h *Home) Free() int { return len(h.free) }

// Retired returns the number of slots whose versions are used up.
func (h *Home) Retired() int { return h.retired }
