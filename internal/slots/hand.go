package slots

import (
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/publish"
)

// Hand has the handles that a port has drawn.
//
//	all  │ not given yet │ given │
//	                 ◀── left
//
// Ownership: the sender of the port and, once the port is closed, the code that closes it. They
// write all and number under the allocator's lock, so others may read those under it; left they
// write by atomic stores.
type Hand struct {
	all    []handle.Handle
	left   uint32 // how many of all were not given yet; the last of them is given first
	number uint32 // of the port
}

// Len returns how many handles were not given yet.
func (h *Hand) Len() int { return int(h.left) }

// Give gives the next handle to a caller. There must be one. The store is a plain one on amd64: who
// gets the handle from the caller sees it, and for anybody else either answer of Given is right.
func (h *Hand) Give() handle.Handle {
	left := h.left - 1
	publish.Store32(&h.left, left)
	return h.all[left]
}

// GiveN fills to with the handles that Give would return, one after the other.
func (h *Hand) GiveN(to []handle.Handle) {
	rest := h.left - uint32(len(to))
	for i, next := range h.all[rest:h.left] {
		to[len(to)-1-i] = next
	}
	publish.Store32(&h.left, rest)
}

// Next returns the handle that Give returns after i others, without giving it.
func (h *Hand) Next(i int) handle.Handle { return h.all[int(h.left)-1-i] }

// has reports whether of is here and was not given yet. The allocator's lock is held.
func (h *Hand) has(of handle.Handle) bool {
	for _, x := range h.all[:atomic.LoadUint32(&h.left)] {
		if x == of {
			return true
		}
	}
	return false
}

// takers says for each index of the home of ports which port drew it last, and with which version.
//
//	taker  | port + 1 (21 bits) | version (11 bits) |   0: none
//
// When a slot is freed its taker stays, with what is now an earlier version. Versions go up by one
// from one draw to the next, so their lowest bits tell.
type takers []*[pageSize]taker

type taker uint32

const takerVersion = 1<<11 - 1

// of returns the taker of a handle, or 0 if no port has drawn it. The allocator's lock is held, as
// in the other methods.
func (t takers) of(h handle.Handle) taker {
	i := h.Index()
	if int(i>>pageBits) >= len(t) || t[i>>pageBits] == nil {
		return 0
	}
	if x := t[i>>pageBits][i%pageSize]; uint32(x)&takerVersion == h.Version()&takerVersion {
		return x
	}
	return 0
}

// set notes that a port has drawn a handle, whose entry exists.
func (t takers) set(h handle.Handle, port uint32) {
	i := h.Index()
	t[i>>pageBits][i%pageSize] = taker((port+1)<<11 | h.Version()&takerVersion)
}

// clear notes that handles are in no hand any more, and were not given.
func (t takers) clear(hs []handle.Handle) {
	for _, h := range hs {
		i := h.Index()
		t[i>>pageBits][i%pageSize] = 0
	}
}

// grow makes the entries of the first n indexes.
func (t *takers) grow(n uint64) {
	for uint64(len(*t))<<pageBits < n {
		*t = append(*t, new([pageSize]taker))
	}
}
