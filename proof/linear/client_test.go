package linear_test

import (
	"context"
	"runtime"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// client acts through a port, on a goroutine of its own.
type client struct {
	actor
	p    *world.Port
	open [3]promise // requests whose outcome it will hear

	opened int // ports so far
}

type promise struct {
	done   world.Completion
	h      handle.Handle
	number uint16 // 0: none under way
}

func newClient(s *stage, number int) *client {
	c := &client{actor: s.actor(number)}
	c.records = make([]record, 0, 2*s.operations)
	c.openPort()
	return c
}

// reopens is the number of ports a client opens, at the most.
const reopens = 3

func (c *client) openPort() {
	c.opened++
	var err error
	if c.p, err = c.w.OpenPort(); err != nil {
		panic(err)
	}
}

func (c *client) play() {
	for len(c.records) < c.operations {
		h := c.pick(c.r)
		switch what := c.r.IntN(16); {
		case what == 15 && c.reopen && c.opened < reopens:
			c.p.Close()
			c.openPort()
		case what < 4 || h.IsNone():
			c.create()
		case what < 8:
			c.destroy(h)
		case what < 10:
			c.hear(&c.open[c.r.IntN(len(c.open))])
		default:
			c.lookAt(c.p, port, h)
		}
		c.progress.Add(1)
	}
	for i := range c.open {
		c.hear(&c.open[i])
	}
	if c.reopen {
		c.p.Close()
	}
}

// ask arms a completion for the next request, if one is free.
func (c *client) ask() *promise {
	q := &c.open[c.r.IntN(len(c.open))]
	if q.number != 0 {
		return nil
	}
	q.number = uint16(c.requests.Add(1))
	c.p.Notify(&q.done)
	return q
}

func (c *client) create() {
	q := c.ask()
	r := c.begin(create, port, handle.None)
	var err error
	r.h, err = c.units.Create(c.p, unit{name{c.client}})
	c.end(r)
	if c.sent(r, q, err); err == nil {
		c.publish(r.h, c.r)
	}
}

func (c *client) destroy(h handle.Handle) {
	q := c.ask()
	r := c.begin(destroy, port, h)
	err := c.p.Destroy(h)
	c.end(r)
	c.sent(r, q, err)
}

// sent completes the record of a request, or forgets it if it was not accepted.
func (c *client) sent(r *record, q *promise, err error) {
	if err != nil {
		mustBeLimit(err)
		c.drop()
		if q != nil {
			q.number = 0
		}
		c.rest()
		return
	}
	r.rank, r.ok = uint8(c.p.Number()), true
	if q != nil {
		q.h, r.request = r.h, q.number
	}
}

// rest waits for the next refresh, which makes room.
func (c *client) rest() {
	now := c.w.Tick()
	c.came.Add(1)
	for c.w.Tick() == now {
		runtime.Gosched()
	}
	c.left.Add(1)
}

// hear waits for an outcome.
func (c *client) hear(q *promise) {
	if q.number == 0 {
		return
	}
	r := c.begin(told, port, q.h)
	r.request = q.number
	c.came.Add(1)
	var err error
	if r.outcome, err = q.done.Wait(context.Background()); err != nil {
		panic(err)
	}
	c.left.Add(1)
	c.end(r)
	q.number = 0
}
