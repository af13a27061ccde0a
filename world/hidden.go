package world

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/slots"
)

// What another shard creates while this one runs is hidden from it: whether it is there yet depends
// on time, and a client may guess its handle. Only a handle whose home is another shard can be of
// such an entity, so the look-ups of all others cost a comparison or two more; see
// store.Space.Reveal.

// isElsewhere reports whether the home of h is another shard.
func (c *Context) isElsewhere(h handle.Handle) bool {
	return h.Home() != c.home && h.Home() < c.ports
}

// seen returns the location of an entity whose home is another shard, or 0 if it is hidden.
//
//go:noinline
func (c *Context) seen(l slots.Loc) slots.Loc {
	if l == 0 || c.acting.Access != nil && c.acting.Access.Exclusive || !c.w.space.Hidden(l) {
		return l
	}
	return 0
}

// locate is Locate, for calls that check themselves whether the system runs.
func (c *Context) locate(h handle.Handle) slots.Loc {
	l := c.lookup.Locate(h)
	if c.isElsewhere(h) {
		l = c.seen(l)
	}
	return l
}

// status returns the Status of a handle but Dying.
func (c *Context) status(h handle.Handle) Status {
	if c.locate(h) != 0 {
		return Alive
	}
	if s := statusInTick(c.w, h); s != Alive {
		return s
	}
	return Unused // it is hidden: before it was created, its handle was the next
}
