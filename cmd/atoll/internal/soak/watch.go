package soak

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

const watchesMax = 64

// watch is a request whose outcome its client waits for.
type watch struct {
	done    world.Completion
	h       handle.Handle
	want    world.Outcome
	destroy bool
	contest *contest // instead of want
}

// watches are a client's, in the order sent.
type watches struct {
	ring        [watchesMax]watch
	first, next int // counted on
}

// begin adds a watch, or returns nil if there are too many.
func (a *watches) begin() *watch {
	if a.next-a.first == watchesMax {
		return nil
	}
	w := &a.ring[a.next%watchesMax]
	a.next++
	w.contest, w.destroy = nil, false
	return w
}

// drop removes the newest, whose request was not accepted.
func (a *watches) drop() { a.next-- }

// newest returns the newest that is not settled, or nil.
func (a *watches) newest() *watch {
	if a.next == a.first {
		return nil
	}
	return &a.ring[(a.next-1)%watchesMax]
}

// settle checks the outcomes that have arrived.
func (a *watches) settle(c *client) {
	for a.first < a.next {
		w := &a.ring[a.first%watchesMax]
		o := w.done.Outcome()
		if o == world.Undecided {
			return
		}
		a.first++
		if w.contest != nil {
			w.contest.decide(c, o)
		} else if o != w.want {
			c.s.violate("client %d: a request on %v is told %v, want %v", c.number, w.h, o, w.want)
		}
		if gone := w.destroy && o == world.Applied || o == world.Gone; gone && (c.port.Alive(w.h) || c.port.Status(w.h) != world.Stale) {
			c.s.violate("client %d: a request on %v is told %v, and it is %v", c.number, w.h, o, c.port.Status(w.h))
		}
	}
}
