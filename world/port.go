package world

import (
	"fmt"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/shard"
)

const (
	drawAtOnce = 16 // handles a port takes in one step
	givenAhead = 64 // used handles a port is given beyond what it used in a tick
)

// Port is one outside sender: what a goroutine outside of the tick holds to act
// on the world at any time. Checks are answered at once; everything else is a
// request that the next refresh applies, in the order sent. What was sent in
// time for a refresh is decided by one cut through all ports: if one request
// can have caused another, they are never applied in different order.
//
// Ownership: one goroutine at a time. Open as many as there are senders; an
// idle port is small.
type Port struct {
	sender
	number int
	active *atomic.Uint64 // the word of ports.active that holds the port's bit
	notify *Completion
	closed bool

	// Handles for creates: used ones that refreshes gave to this port, and a few
	// that it took itself.
	given  *shard.Queue[handle.Handle]
	taken  uint64 // of given
	hand   []handle.Handle
	cursor int // round robin of new entities

	givenN  atomic.Uint64 // published by the refresh
	wants   atomic.Bool   // set by the port when given is used up
	creates int           // of this refresh; the refresh's own
	inUse   atomic.Bool   // for the check build
}

func (p *Port) world() *World { return p.w }

// Number returns the port's number, by which refreshes order the ports.
func (p *Port) Number() int { return p.number }

// Alive reports whether the entity is alive.
func (p *Port) Alive(h handle.Handle) bool { return p.w.space.Alive(h) }

// Status tells what a handle stands for. It never tells Dying: that an entity
// is marked is known to its owner alone.
func (p *Port) Status(h handle.Handle) Status { return status(p.w.space, h) }

// Notify makes c learn the outcome of the next request.
func (p *Port) Notify(c *Completion) *Port {
	p.notify = c
	return p
}

// Waiting returns how many requests are sent and not yet applied.
func (p *Port) Waiting() int {
	if p.lane == nil {
		return 0
	}
	return p.lane.Waiting()
}

// Rejected returns how many requests were refused because the lane was full.
func (p *Port) Rejected() uint64 { return p.rejected }

// Destroy requests that an entity be destroyed. It returns ErrFull if the
// request was not accepted. Whether this request destroyed it, or it was gone
// already, is the outcome: Applied or Gone.
func (p *Port) Destroy(h handle.Handle) error { return p.sendBare(shard.Request{Handle: h}) }

// Close closes the port: what was sent is still applied, and the handles it had
// in hand go back. Closing twice is no error.
func (p *Port) Close() {
	if !p.closed {
		p.closed = true
		p.w.ports.close(p)
	}
}

// sendBare sends a request without a payload.
func (p *Port) sendBare(q shard.Request) error {
	if check.Enabled {
		p.enter()
		defer p.leave()
	}
	done, err := p.begin()
	if err == nil {
		q.Done = done.finisher()
		err = p.sender.sendBare(q)
	}
	return p.end(done, err)
}

// portSend sends a request with a payload.
func portSend[T any](p *Port, k kind, target applier[T], h handle.Handle, v T) error {
	if check.Enabled {
		p.enter()
		defer p.leave()
	}
	done, err := p.begin()
	if err == nil {
		err = send(&p.sender, k, target, shard.Request{Handle: h, Done: done.finisher()}, v)
	}
	return p.end(done, err)
}

// portCreate takes a handle and sends the bundle after it. Room is made sure of
// first, so that a refused create costs no slot.
func portCreate[T any](p *Port, b *Bundle[T], v T) (handle.Handle, error) {
	if check.Enabled {
		p.enter()
		defer p.leave()
	}
	at := p.cursor
	if b.place != nil {
		at = b.placed(v) // may panic, so before anything is taken
	}
	done, err := p.begin()
	if err == nil {
		err = p.room(b.bytes)
	}
	var h handle.Handle
	if err == nil {
		h, err = p.take()
	}
	if err == nil {
		if b.place == nil {
			if p.cursor++; p.cursor == len(p.w.shards) {
				p.cursor = 0
			}
		}
		push(&p.sender, b.kind, b, shard.Request{Handle: h, Create: true, Shard: uint16(at), Done: done.finisher()}, v)
	}
	return h, p.end(done, err)
}

// begin starts a request: the completion it will tell, if any.
func (p *Port) begin() (*Completion, error) {
	if p.closed || p.w.closed.Load() {
		return nil, ErrClosed
	}
	c := p.notify
	if c != nil {
		p.notify = nil
		c.arm()
	}
	return c, nil
}

// end puts the port among those the refresh looks at, or lets go of the
// completion if the request was not accepted.
func (p *Port) end(c *Completion, err error) error {
	if err != nil {
		p.notify = nil
		if c != nil {
			c.disarm()
		}
		return err
	}
	p.activate()
	if p.w.closed.Load() {
		p.tooLate()
	}
	return nil
}

// finisher makes a nil *Completion a nil Finisher.
func (c *Completion) finisher() shard.Finisher {
	if c == nil {
		return nil
	}
	return c
}

// take returns a handle for a create.
func (p *Port) take() (handle.Handle, error) {
	if p.taken < p.givenN.Load() {
		h := *p.given.Pop()
		p.taken++
		if p.taken%drawAtOnce == 0 {
			p.given.Release()
		}
		return h, nil
	}
	if len(p.hand) == 0 {
		if !p.wants.Load() {
			p.wants.Store(true)
		}
		var err error
		if p.hand, err = p.w.outside.Take(p.hand, drawAtOnce); err != nil {
			p.activate() // so that the refresh gives used ones
			return 0, err
		}
	}
	last := len(p.hand) - 1
	h := p.hand[last]
	p.hand = p.hand[:last]
	return h, nil
}

// enter and leave find a port that is used from two goroutines at once.
func (p *Port) enter() {
	if !p.inUse.CompareAndSwap(false, true) {
		panic(fmt.Sprintf("world: port %d is used from two goroutines at once; open a port for each", p.number))
	}
}

func (p *Port) leave() { p.inUse.Store(false) }
