package world

import (
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/clock"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
)

const (
	drawFirst = 8   // handles a port takes at a time, at first
	cacheMax  = 128 // the most that it takes beyond its need
)

// endpoint is the part of a port that the world knows. It does not lead to the Port, so the
// collector finds a Port that was dropped, and a cleanup closes it.
//
//	Port ──▶ endpoint ◀── ports.byNumber
//	 └ queue ◀────┘
//
// Ownership: cache to recalledIn belong to the sender and, once the port is closed, to the code
// that closes it. That code sees the sender's last writes to them, because the sender published
// something in the queue afterwards. queue is written by the sender once, and cut by the refresh
// when the port is closed and the queue is empty. room is made by the sender before it first sets
// waiting. since is written by the goroutine that sets the bit, before that. closed is guarded by
// ports.mu.
type endpoint struct {
	ports  *ports
	active *atomic.Uint64              // the word of ports.active that holds the port's bit
	queue  atomic.Pointer[queue.Queue] // nil until something was sent, and of a closed port
	since  atomic.Int64                // when the bit was set, by package clock
	number int32
	closed bool

	cache []handle.Handle // free, and not given out yet; the last is used first
	block int32           // how many to take at a time
	drew  uint32          // the epoch in which some were last taken

	recalled, recalledIn uint32 // how many were taken back, and in which epoch

	waiting atomic.Bool   // for room
	room    chan struct{} // nil until the port first waited
}

// bit is the port's bit in active.
func (e *endpoint) bit() uint64 { return 1 << (e.number % 64) }

// draw makes sure that there are n handles in the cache. It takes none and returns ErrIndexes if
// the world does not have that many left.
func (e *endpoint) draw(o *slots.PortAllocator, n int, epoch uint32) (err error) {
	if epoch == e.drew {
		e.block = min(max(2*e.block, drawFirst), cacheMax)
	} else {
		e.block = max(e.block/2, drawFirst)
	}
	e.drew = epoch
	e.cache, err = o.Take(e.cache, n-len(e.cache), int(e.block))
	return err
}

// tookBack returns how many handles were taken back since the last refresh.
func (e *endpoint) tookBack(epoch uint32) int {
	if epoch != e.recalledIn {
		e.recalled, e.recalledIn = 0, epoch
	}
	return int(e.recalled)
}

// takeBack takes back handles that were given out and for which no create is sent. They are not
// used until the next refresh.
func (e *endpoint) takeBack(o *slots.PortAllocator, handles []handle.Handle, epoch uint32) {
	e.recalled = uint32(e.tookBack(epoch) + len(handles))
	o.Recall(handles...)
	if len(e.cache) > drawFirst { // after a CreateN that panicked
		e.cache = o.Put(e.cache, cacheMax)
	}
}

// activate sets the port's bit. The queue was published before, so a refresh
// that clears the bit after this sees the request.
func (e *endpoint) activate() {
	if bit := e.bit(); e.active.Load()&bit == 0 {
		e.since.Store(clock.Now())
		e.active.Or(bit)
	}
	if t := e.ports; !t.some.Load() {
		t.some.Store(true) // after the bit: the refresh clears this before it looks for bits
	}
}

// wake wakes the sender if it waits for room. It is called by the refresh.
func (e *endpoint) wake() {
	if e.waiting.Load() && e.waiting.Swap(false) {
		select {
		case e.room <- struct{}{}:
		default:
		}
	}
}
