package world

import (
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/atoll-sim/atoll/shard"
)

// ports is the table of open ports.
//
// Invariants: a port that has something in its lane has its bit set in active,
// or is being looked at by a refresh that will set it again.
//
// Ownership: mu guards the table. The bits are set by senders and cleared by
// the refresh, which reads lanes only of ports whose bit was set: thousands of
// idle ones cost it a word of 64 each.
type ports struct {
	active atomic.Pointer[[]atomic.Uint64] // nil until the first port is opened
	some   atomic.Bool                     // some bit may be set
	closed atomic.Bool                     // some port waits to be retired

	mu struct {
		sync.Mutex
		byNumber []*Port
		free     []int
		closed   []*Port // lanes may still hold requests
		fed      bool    // no port may be opened
		untold   []*Port // abandoned, while the world is being closed
		over     bool    // it has been
	}
}

// OpenPort opens a port. Safe from any goroutine at any time. It returns
// ErrPorts if as many are open as Options.PortsMax allows; a closed one counts
// until the refresh has taken what it had sent. It returns ErrClosed once the world
// is closed, and ErrFed while a log is replayed.
func (w *World) OpenPort() (*Port, error) {
	m := &w.ports.mu
	m.Lock()
	defer m.Unlock()
	if m.fed {
		return nil, fmt.Errorf("%w: a log is replayed; open ports when it is over", ErrFed)
	}
	if err := w.Err(); err != nil {
		return nil, err
	}
	if w.ports.active.Load() == nil {
		words := make([]atomic.Uint64, (w.options.PortsMax+63)/64)
		w.ports.active.Store(&words)
	}
	p := &Port{sender: sender{w: w, maxRequests: w.options.LaneRequests, maxBytes: w.options.LaneBytes}}
	if n := len(m.free); n > 0 {
		p.number = m.free[n-1]
		m.free = m.free[:n-1]
	} else if p.number = len(m.byNumber); p.number < w.options.PortsMax {
		m.byNumber = append(m.byNumber, nil)
	} else {
		return nil, fmt.Errorf("%w: PortsMax is %d; close ports or raise it", ErrPorts, w.options.PortsMax)
	}
	m.byNumber[p.number] = p
	p.cursor, p.run = p.number%len(w.shards), portRun
	p.active, p.bit = &(*w.ports.active.Load())[p.number/64], 1<<(p.number%64)
	p.special = true // there is no lane yet
	return p, nil
}

func (t *ports) close(p *Port) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.closed = append(t.mu.closed, p)
	t.closed.Store(true)
}

// activate sets the port's bit. The lane was published before, so a refresh
// that clears the bit after this sees the request.
func (p *Port) activate() {
	if p.active.Load()&p.bit == 0 {
		p.active.Or(p.bit)
	}
	if t := &p.w.ports; !t.some.Load() {
		t.some.Store(true) // after the bit, which the refresh looks for after it has cleared this
	}
}

// cut ends the epoch and returns it: what was sent in it, or before, is to be taken.
// While no port was ever opened there is no one who sends at the same time, and the
// epoch goes on; what the first port sends from now on waits for the next refresh.
func (t *ports) cut(epoch *atomic.Uint32) (last uint32, ports bool) {
	if t.active.Load() == nil {
		return epoch.Load(), false
	}
	return epoch.Add(1) - 1, true
}

// collect appends the ports that have their bit set, by number, and clears it.
func (t *ports) collect(to []*Port) []*Port {
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

// wants returns how many used handles the ports are to be given.
func wants(ports []*Port) int {
	n := 0
	for _, p := range ports {
		n += p.wants()
	}
	return n
}

// retire takes the unused handles back from closed ports whose lanes are empty,
// and frees their numbers.
func (t *ports) retire(o *shard.Outside) {
	if t.closed.Load() {
		t.retireClosed(o)
	}
}

func (t *ports) retireClosed(o *shard.Outside) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.mu.closed[:0]
	for _, p := range t.mu.closed {
		if p.lane != nil && !p.lane.Empty() {
			kept = append(kept, p)
			continue
		}
		p.empty(o)
		// A bit set after collect, for a request that was still drained, must not
		// be taken for one of the number's next port.
		p.active.And(^p.bit)
		t.mu.byNumber[p.number] = nil
		t.mu.free = append(t.mu.free, p.number)
	}
	clear(t.mu.closed[len(kept):])
	t.mu.closed = kept
	t.closed.Store(len(kept) > 0)
}
