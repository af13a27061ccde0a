package soak

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

const (
	clientGraves = 1024
	batchMax     = 8
	looksN       = 3 // checks after each operation
)

// client is one goroutine outside of the tick, with its port and its book. The
// book is ahead of the world: it has the state after all that was sent is done.
type client struct {
	s      *stage
	number uint32
	rand   *rand.Rand
	port   *world.Port
	ops    atomic.Uint64 // requests and checks

	guests  []entry
	vacant  []uint32
	serial  uint32
	graves  graveyard
	orders  []uint32 // accepted, by veteran
	watches watches

	contests [contestsMax]contest
	inbox    chan *contest
	todo     []*contest // to be destroyed by this client

	created   uint64
	destroyed uint64
	expected  [5]uint64 // requests by the outcome they must have
	rejected  uint64
	retired   uint64 // rejections that closed ports counted

	batch   []handle.Handle
	fill    func(i int, g *guest)
	flooded int // the operation of the newest flood
}

// entry is a guest in its client's book.
type entry struct {
	h                    handle.Handle // none: vacant
	place                uint32
	serial               uint32
	value, heard         uint32
	seen                 uint32 // number of the audit that found it
	due                  uint64 // the tick from which on it must be alive
	badge, label, hidden bool
}

func newClient(s *stage, number uint32, p *world.Port, quota int) *client {
	c := &client{
		s: s, number: number, rand: s.config.newRand(guestMaker + number), port: p,
		guests: make([]entry, quota), vacant: make([]uint32, quota), graves: newGraveyard(clientGraves),
		orders: make([]uint32, veteransN), inbox: make(chan *contest, inboxMax), todo: make([]*contest, 0, inboxMax+contestsMax),
		batch: make([]handle.Handle, 0, batchMax),
	}
	for i := range c.vacant {
		c.vacant[i] = uint32(i)
	}
	c.fill = func(i int, g *guest) { *g = c.next(i) }
	return c
}

// run is the client's life.
func (c *client) run() {
	for range ops { // so that every queue has its size when the warm-up is over
		c.note(c.flood())
	}
	for !c.s.ended.Load() && c.s.patience.Err() == nil {
		if c.s.rest.asked.Load() {
			c.park()
			continue
		}
		c.serve()
		c.note(c.pick()(c))
		for range looksN {
			c.look()
		}
		c.ops.Add(1 + looksN)
		c.watches.settle(c)
	}
}

// note handles the error of an operation. A full queue makes the client wait.
func (c *client) note(err error) {
	switch {
	case err == nil:
	case errors.Is(err, world.ErrFull):
		c.await()
	default:
		c.s.violate("client %d: %v", c.number, err)
	}
}

// await waits until the client has the newest outcome that it watches for, or
// if there is none for a moment.
func (c *client) await() {
	if w := c.watches.newest(); w != nil {
		_, _ = w.done.Wait(c.s.patience)
	} else {
		time.Sleep(time.Millisecond)
	}
	c.watches.settle(c)
}

// begin makes the next request of the port a watched one, if it must be
// or by chance. Otherwise it returns nil.
func (c *client) begin(must bool) *watch {
	if !must && c.rand.IntN(4) != 0 {
		return nil
	}
	w := c.watches.begin()
	if deaf := c.s.config.hooks.deaf; w != nil && (deaf == nil || !deaf()) {
		c.port.Notify(&w.done)
	}
	return w
}

// sent completes begin. want is the outcome that the request must have.
func (c *client) sent(w *watch, h handle.Handle, want world.Outcome, err error) error {
	if err != nil {
		if w != nil {
			c.watches.drop()
		}
		if errors.Is(err, world.ErrFull) {
			c.rejected++
		}
		return err
	}
	if w != nil {
		w.h, w.want, w.contest = h, want, nil
	}
	c.expected[want]++
	return nil
}

// due is the tick from which on what was just sent must be done. The refresh
// under way may be too far to apply it; the next one is not.
func (c *client) due() uint64 { return c.s.w.Tick() + 2 }

// next is the i-th guest to be created, for the place that is vacant longest.
func (c *client) next(i int) guest {
	serial := c.serial + 1 + uint32(i)
	at := c.vacant[len(c.vacant)-1-i]
	return guest{tag{guestMaker + c.number, at, serial}, twin{serial}, value{}, ear{}}
}

// made notes that the next guest was accepted.
func (c *client) made(h handle.Handle) *entry {
	if st := c.port.Status(h); st != world.Pending && st != world.Alive {
		c.s.violate("client %d was given %v, which is %v", c.number, h, st)
	}
	last := len(c.vacant) - 1
	at := c.vacant[last]
	e := &c.guests[at]
	c.vacant = c.vacant[:last]
	c.serial++
	c.created++
	*e = entry{h: h, place: at, serial: c.serial, due: c.due()}
	return e
}

// lost notes that a guest is to be destroyed.
func (c *client) lost(e *entry) {
	c.graves.add(e.h, c.due())
	c.destroyed++
	c.vacate(e)
}

func (c *client) vacate(e *entry) {
	e.h = handle.None
	c.vacant = append(c.vacant, e.place)
}

// living returns a living guest, or nil if it finds none.
func (c *client) living() *entry {
	for range 4 {
		if e := &c.guests[c.rand.IntN(len(c.guests))]; e.h != handle.None {
			return e
		}
	}
	return nil
}
