package refresh

import (
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/clock"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
)

const (
	drawFirst = 8 // handles a port takes at a time, at first
	// CacheMax is the most that it takes beyond its need.
	CacheMax = 128
)

// Endpoint is the part of a port that the world knows. It does not lead to the Port, so the
// collector finds a Port that was dropped, and a cleanup closes it.
//
//	Port ──▶ Endpoint ◀── Ports.byNumber
//	 └ Queue ◀────┘
//
// Ownership: Hand, and block to recalledIn, belong to the sender and, once the port is closed, to
// the code that closes it. That code sees the sender's last writes to them, because the sender
// published something in the queue afterwards. Queue is written by the sender once, and cut by the
// refresh when the port is closed and the queue is empty. Room is made by the sender before it
// first sets Waiting. since is written by the goroutine that sets the bit, before that. closed is
// guarded by Ports.mu.
type Endpoint struct {
	Number  int32
	Queue   atomic.Pointer[queue.Queue] // nil until something was sent, and of a closed port
	Hand    slots.Hand                  // free handles, not given out yet
	Waiting atomic.Bool                 // for room
	Room    chan struct{}               // nil until the port first waited

	ports  *Ports
	active *atomic.Uint64 // the word of Ports.active that holds the port's bit
	since  atomic.Int64   // when the bit was set, by package clock
	closed bool

	block int32  // how many handles to take at a time
	drew  uint32 // the epoch in which some were last taken

	recalled, recalledIn uint32 // how many were taken back, and in which epoch
}

// bit is the port's bit in active.
func (e *Endpoint) bit() uint64 { return 1 << (e.Number % 64) }

// Draw makes sure that there are n handles in the hand; the sender calls it. It takes none and
// returns ErrIndexes if the world does not have that many left.
func (e *Endpoint) Draw(o *slots.PortAllocator, n int, epoch uint32) error {
	if epoch == e.drew {
		e.block = min(max(2*e.block, drawFirst), CacheMax)
	} else {
		e.block = max(e.block/2, drawFirst)
	}
	e.drew = epoch
	return o.Take(&e.Hand, int(e.Number), n-e.Hand.Len(), int(e.block))
}

// TookBack returns how many handles were taken back since the last refresh. The sender calls it.
func (e *Endpoint) TookBack(epoch uint32) int {
	if epoch != e.recalledIn {
		e.recalled, e.recalledIn = 0, epoch
	}
	return int(e.recalled)
}

// TakeBack takes back handles that were given out and for which no create is sent; the sender calls
// it when it rolls a batch back. They are not used until the next refresh.
func (e *Endpoint) TakeBack(o *slots.PortAllocator, handles []handle.Handle, epoch uint32) {
	e.recalled = uint32(e.TookBack(epoch) + len(handles))
	o.Recall(handles...)
	if e.Hand.Len() > drawFirst { // a batch had drawn many
		o.Put(&e.Hand, CacheMax)
	}
}

// Activate sets the port's bit; the sender calls it, or the refresh, for what was sent after the
// cut. The queue was published before, so a refresh that clears the bit after this sees the
// request.
func (e *Endpoint) Activate() {
	if bit := e.bit(); e.active.Load()&bit == 0 {
		e.since.Store(clock.Now())
		e.active.Or(bit)
	}
	if t := e.ports; !t.some.Load() {
		t.some.Store(true) // after the bit: the refresh clears this before it looks for bits
	}
}

// wake wakes the sender if it waits for room. It is called by the refresh, and by Ports.Abandon.
func (e *Endpoint) wake() {
	if e.Waiting.Load() && e.Waiting.Swap(false) {
		select {
		case e.Room <- struct{}{}:
		default:
		}
	}
}

// Close closes the port, unless it is closed: it puts the handles in the hand back. The sender
// calls it, or the collector's goroutine. A refresh frees the port's number when its queue is
// empty.
func (e *Endpoint) Close() {
	t := e.ports
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.closed {
		return
	}
	e.closed = true
	t.slots.Leave(&e.Hand)
	t.mu.closed = append(t.mu.closed, e)
	t.closed.Store(true)
}
