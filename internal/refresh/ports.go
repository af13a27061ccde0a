package refresh

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
)

// ErrReplaying is returned when a port is opened during a replay of inputs, and for a replay while
// ports are open.
var ErrReplaying = errors.New("world: ports and a replay of inputs at the same time")

// Ports is the table of open ports.
//
// Invariants: a port that has something in its queue has its bit set in active, or its sender is
// about to set it, or a refresh looks at it that will set it again.
//
// Ownership: mu guards the table. The bits are set by senders and cleared by the refresh, which
// reads queues only of ports whose bit was set: thousands of idle ports cost it one word for each
// 64 of them.
type Ports struct {
	slots  *slots.PortAllocator
	epoch  *atomic.Uint32
	shards int
	active atomic.Pointer[[]atomic.Uint64] // nil until the first port is opened
	some   atomic.Bool                     // some bit may be set
	closed atomic.Bool                     // some port waits to be retired

	mu struct {
		sync.Mutex
		byNumber []*Endpoint
		free     []int
		closed   []*Endpoint    // queues may still hold requests
		shut     bool           // no port may be opened
		toNotify []*queue.Queue // abandoned, while the world is being closed
		over     bool           // the world is closed
	}
}

// Open opens a port and returns its endpoint, or nil if most ports are open already. It returns an
// error if a log is replayed, or if may returns one. Any goroutine may call it.
func (t *Ports) Open(most int, may func() error) (*Endpoint, error) {
	m := &t.mu
	m.Lock()
	defer m.Unlock()
	if m.shut {
		return nil, fmt.Errorf("%w: a log is replayed; open ports when it is over", ErrReplaying)
	}
	if err := may(); err != nil {
		return nil, err
	}
	if t.active.Load() == nil {
		words := make([]atomic.Uint64, (most+63)/64)
		t.active.Store(&words)
	}
	number := len(m.byNumber)
	if n := len(m.free); n > 0 {
		number = m.free[n-1]
		m.free = m.free[:n-1]
	} else if number < most {
		m.byNumber = append(m.byNumber, nil)
	} else {
		return nil, nil
	}
	e := &Endpoint{ports: t, active: &(*t.active.Load())[number/64], Number: int32(number)}
	m.byNumber[number] = e
	t.slots.Join()
	return e, nil
}

// Alone calls f if no port is open, and none is opened meanwhile. It returns how many are open, and
// the error of f.
func (t *Ports) Alone(f func() error) (open int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if open = len(t.mu.byNumber) - len(t.mu.free); open == 0 {
		err = f()
	}
	return open, err
}

// Shut keeps ports from being opened while a log is replayed, until Reopen. It returns how many are
// open; if there are any, it does nothing. The world is idle.
func (t *Ports) Shut() (open int) {
	open, _ = t.Alone(func() error {
		t.mu.shut = true
		return nil
	})
	return open
}

// Reopen ends Shut, when a replay has ended and the world is idle.
func (t *Ports) Reopen() {
	t.slots.Reopen()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.shut = false
}

// cut ends the epoch and returns it: this refresh takes what was sent in it or before. If no port
// was ever opened, nothing is sent at the same time, and the epoch continues; what the first port
// sends from now on waits for the next refresh. The coordinator calls it when a refresh begins.
func (t *Ports) cut(epoch *atomic.Uint32) (last uint32, ports bool) {
	if t.active.Load() == nil {
		return epoch.Load(), false
	}
	return epoch.Add(1) - 1, true
}

// collect appends the ports that have their bit set, by number, and clears it. A refresh calls it,
// or the code that closes the world.
func (t *Ports) collect(to []*Endpoint) []*Endpoint {
	if !t.some.Load() {
		return to
	}
	t.some.Store(false)
	words := t.active.Load()
	for i := range *words {
		word := &(*words)[i]
		if word.Load() == 0 {
			continue
		}
		t.mu.Lock()
		for set := word.Swap(0); set != 0; set &= set - 1 {
			to = append(to, t.mu.byNumber[i*64+bits.TrailingZeros64(set)])
		}
		t.mu.Unlock()
	}
	return to
}

// Sent reports whether a queue has requests that no refresh has taken. The world is idle.
func (t *Ports) Sent() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.mu.byNumber {
		if e == nil {
			continue
		}
		if q := e.Queue.Load(); q != nil && !q.Empty() {
			return true
		}
	}
	return false
}

// Count returns how many ports there are, and how many requests are in their queues. Any goroutine
// may call it.
func (t *Ports) Count() (n, waiting int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.mu.byNumber {
		if e == nil {
			continue
		}
		n++
		if q := e.Queue.Load(); q != nil {
			waiting += q.Waiting()
		}
	}
	return n, waiting
}

// retire frees the numbers of closed ports whose queues are empty, at the end of a refresh.
func (t *Ports) retire() {
	if t.closed.Load() {
		t.retireClosed()
	}
}

// retireClosed is retire when some ports were closed.
func (t *Ports) retireClosed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.mu.closed[:0]
	for _, e := range t.mu.closed {
		if q := e.Queue.Load(); q != nil && !q.Empty() {
			kept = append(kept, e)
			continue
		}
		e.Queue.Store(nil)
		// A bit may have been set after collect, for a request that was still drained. It must not
		// count for the next port with this number.
		e.active.And(^e.bit())
		t.mu.byNumber[e.Number] = nil
		t.mu.free = append(t.mu.free, int(e.Number))
	}
	clear(t.mu.closed[len(kept):])
	t.mu.closed = kept
	t.closed.Store(len(kept) > 0)
}

// Abandon empties the queue of a port and decides its requests as Closed, or as Broken in a broken
// world. Senders are notified when all entities are dead. It is called when the world is closed or
// broken, or by a sender whose request came too late for that; the lock keeps the two apart.
func (t *Ports) Abandon(e *Endpoint, outcome queue.Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := e.Queue.Load()
	if q == nil {
		return // it has sent nothing
	}
	t.decide(q, q.Sent(), outcome)
	if t.mu.over {
		q.Notify()
	} else {
		t.mu.toNotify = append(t.mu.toNotify, q)
	}
	e.wake()
}

// decide takes the requests of a queue up to a counter, and decides them. mu is held.
func (t *Ports) decide(q *queue.Queue, upto uint32, outcome queue.Outcome) {
	q.Drain(upto, t.epoch.Load()+1, &queue.Drained{Creates: make([][]queue.PendingRequest, t.shards)})
	q.DecideAll(outcome)
	q.Release()
}

// AbandonActive abandons the ports that have sent something. It is for the end of a world.
func (t *Ports) AbandonActive(outcome queue.Outcome) {
	for _, e := range t.collect(nil) {
		t.Abandon(e, outcome)
	}
}

// lose abandons all ports of a world that is closed because its log cannot be written. What was
// sealed, up to a counter of each port of the tick, may be in the log.
func (t *Ports) lose(of []*Endpoint, upto []uint32) {
	t.mu.Lock()
	for i, e := range of {
		if q := e.Queue.Load(); q != nil {
			t.decide(q, upto[i], queue.Unknown)
		}
	}
	t.mu.Unlock()
	t.abandonAll(of, queue.Closed)
}

// abandonAll abandons all ports of a world that broke, and the ports of the refresh that broke it,
// which may have closed some. Requests taken from their queues get the same outcome. The goroutine
// that broke the world calls it.
func (t *Ports) abandonAll(of []*Endpoint, outcome queue.Outcome) {
	t.mu.Lock()
	all := slices.Concat(t.mu.byNumber, of)
	t.mu.Unlock()
	for _, p := range all {
		if p != nil {
			t.Abandon(p, outcome)
		}
	}
}

// NotifyAbandoned notifies the senders of abandoned ports, on the goroutine that closes or breaks
// the world: when a sender gets the outcome, all entities are dead. From now on Abandon notifies at
// once.
func (t *Ports) NotifyAbandoned() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.over = true
	for _, q := range t.mu.toNotify {
		q.Notify()
	}
	t.mu.toNotify = nil
}
