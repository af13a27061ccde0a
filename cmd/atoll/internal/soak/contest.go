package soak

import (
	"errors"

	"go.uber.org/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

const (
	contestsMax = 4  // that a client has under way
	inboxMax    = 64 // of other clients
)

// contest is an entity that two clients destroy at about the same time: its maker,
// right after creating it, and another. Exactly one of them gets the outcome that it did.
//
// Ownership: the two clients. When busy is false, the maker reuses it for the
// next one.
type contest struct {
	h       handle.Handle
	busy    atomic.Bool
	applied atomic.Int32
	told    atomic.Int32
}

// offer makes an entity and hands it to another client as well.
func (c *client) offer() error {
	i := c.rand.IntN(contestsMax)
	t := &c.contests[i]
	if t.busy.Load() || len(c.vacant) == 0 || len(c.todo) >= cap(c.todo)-inboxMax || c.s.rest.asked.Load() {
		return nil
	}
	e, err := c.create()
	if err != nil {
		return err
	}
	t.h = e.h
	t.busy.Store(true)
	t.applied.Store(0)
	t.told.Store(0)
	c.s.rest.contests.Inc()
	other := c.s.clients[c.rand.IntN(len(c.s.clients))]
	select {
	case other.inbox <- t:
		c.vacate(e)
		c.todo = append(c.todo, t)
	default: // the other client has enough; the entity becomes an ordinary guest
		c.s.rest.contests.Dec()
		t.busy.Store(false)
	}
	return nil
}

// serve destroys contested entities, as far as there is room.
func (c *client) serve() {
	for len(c.todo) < cap(c.todo) {
		select {
		case t := <-c.inbox:
			c.todo = append(c.todo, t)
			continue
		default:
		}
		break
	}
	for len(c.todo) > 0 {
		last := len(c.todo) - 1
		if !c.contend(c.todo[last]) {
			return
		}
		c.todo = c.todo[:last]
	}
}

// contend destroys a contested entity and reports whether the request was accepted.
func (c *client) contend(t *contest) bool {
	w := c.begin(true)
	if w == nil {
		return false
	}
	h := t.h
	switch err := c.port.Destroy(h); {
	case err == nil:
		w.h, w.destroy, w.contest = h, true, t
		return true
	default:
		c.watches.drop()
		if errors.Is(err, world.ErrFull) {
			c.rejected++
		} else {
			c.note(err)
		}
		return false
	}
}

// decide records the outcome for one of the two.
func (t *contest) decide(c *client, o world.Outcome) {
	switch o {
	case world.Applied:
		c.destroyed++
		t.applied.Inc()
	case world.Gone:
	default:
		c.s.violate("client %d: destroying %v is told %v", c.number, t.h, o)
	}
	c.expected[o]++
	if t.told.Inc() != 2 {
		return
	}
	if n := t.applied.Load(); n != 1 {
		c.s.violate("%v was destroyed by %d of two who asked for it", t.h, n)
	}
	t.busy.Store(false)
	c.s.rest.contests.Dec()
}
