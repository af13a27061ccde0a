package world

import (
	"fmt"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
)

// ports is the table of open ports.
//
// Invariants: a port that has something in its queue has its bit set in active,
// or is being looked at by a refresh that will set it again.
//
// Ownership: mu guards the table. The bits are set by senders and cleared by the refresh, which
// reads queues only of ports whose bit was set: thousands of idle ports cost it one word for each
// 64 of them.
type ports struct {
	slots  *slots.PortAllocator
	active atomic.Pointer[[]atomic.Uint64] // nil until the first port is opened
	some   atomic.Bool                     // some bit may be set
	closed atomic.Bool                     // some port waits to be retired

	mu struct {
		sync.Mutex
		byNumber []*endpoint
		free     []int
		closed   []*endpoint    // queues may still hold requests
		fed      bool           // no port may be opened
		toNotify []*queue.Queue // abandoned, while the world is being closed
		over     bool           // the world is closed
	}
}

// OpenPort opens a port. Safe from any goroutine at any time. It returns ErrPorts if
// Options.PortsMax ports are open already; a closed port counts until the refresh has taken
// what it had sent. It returns ErrClosed once the world is closed, and another error while a log is
// replayed.
//
// A port that is dropped without Close is closed when the collector finds it. The handles that
// other ports get then depend on when that happens: close ports where runs must be equal.
func (w *World) OpenPort() (*Port, error) {
	m := &w.ports.mu
	m.Lock()
	defer m.Unlock()
	if m.fed {
		return nil, fmt.Errorf("%w: a log is replayed; open ports when it is over", errReplaying)
	}
	if err := w.Err(); err != nil {
		return nil, err
	}
	if w.ports.active.Load() == nil {
		words := make([]atomic.Uint64, (w.options.PortsMax+63)/64)
		w.ports.active.Store(&words)
	}
	number := len(m.byNumber)
	if n := len(m.free); n > 0 {
		number = m.free[n-1]
		m.free = m.free[:n-1]
	} else if number < w.options.PortsMax {
		m.byNumber = append(m.byNumber, nil)
	} else {
		return nil, fmt.Errorf("%w: PortsMax is %d; close ports or raise it", ErrPorts, w.options.PortsMax)
	}
	e := &endpoint{ports: &w.ports, active: &(*w.ports.active.Load())[number/64], number: int32(number)}
	m.byNumber[number] = e
	w.portSlots.Join()
	p := &Port{endpoint: e, sender: sender{w: w, maxRequests: w.options.QueueRequests, maxBytes: w.options.QueueBytes}}
	p.cursor, p.run = int32(number%len(w.shards)), portRun
	p.special = true // there is no queue yet
	// What the cleanup holds must not keep the world in memory: the world may hold the port.
	runtime.AddCleanup(p, closeDropped, weak.Make(e))
	return p, nil
}

// closeDropped closes the port of an endpoint that the collector has found.
func closeDropped(of weak.Pointer[endpoint]) {
	e := of.Value()
	if e == nil {
		return // the world was collected too
	}
	if l := e.queue.Load(); l != nil {
		l.Waiting() // an atomic load, which makes visible what the sender did before it last published
	}
	e.ports.close(e)
}

// close puts the handles in a port's cache back. The port's number is freed when its queue is
// empty.
func (t *ports) close(e *endpoint) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.closed {
		return
	}
	e.closed = true
	t.slots.Leave(e.cache)
	e.cache = nil
	t.mu.closed = append(t.mu.closed, e)
	t.closed.Store(true)
}

// cut ends the epoch and returns it: this refresh takes what was sent in it or before. If no port
// was ever opened, nothing is sent at the same time, and the epoch continues; what the first port
// sends from now on waits for the next refresh.
func (t *ports) cut(epoch *atomic.Uint32) (last uint32, ports bool) {
	if t.active.Load() == nil {
		return epoch.Load(), false
	}
	return epoch.Add(1) - 1, true
}

// collect appends the ports that have their bit set, by number, and clears it.
func (t *ports) collect(to []*endpoint) []*endpoint {
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

// sent reports whether a queue has requests that no refresh has taken.
func (t *ports) sent() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.mu.byNumber {
		if e == nil {
			continue
		}
		if q := e.queue.Load(); q != nil && !q.Empty() {
			return true
		}
	}
	return false
}

// count returns how many ports there are, and how many requests are in their queues.
func (t *ports) count() (n, waiting int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.mu.byNumber {
		if e == nil {
			continue
		}
		n++
		if q := e.queue.Load(); q != nil {
			waiting += q.Waiting()
		}
	}
	return n, waiting
}

// retire frees the numbers of closed ports whose queues are empty.
func (t *ports) retire() {
	if t.closed.Load() {
		t.retireClosed()
	}
}

func (t *ports) retireClosed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.mu.closed[:0]
	for _, e := range t.mu.closed {
		if l := e.queue.Load(); l != nil && !l.Empty() {
			kept = append(kept, e)
			continue
		}
		e.queue.Store(nil)
		// A bit may have been set after collect, for a request that was still drained. It must not
		// count for the next port with this number.
		e.active.And(^e.bit())
		t.mu.byNumber[e.number] = nil
		t.mu.free = append(t.mu.free, int(e.number))
	}
	clear(t.mu.closed[len(kept):])
	t.mu.closed = kept
	t.closed.Store(len(kept) > 0)
}
