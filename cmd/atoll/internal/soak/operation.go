package soak

import (
	"errors"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// operation is something that a client does. It returns the error of a request
// that was not accepted.
type operation struct {
	weight int
	do     func(*client) error
}

// ops are what clients do, each so often. Those before floodable are repeated
// until the queue is full, in floods.
var ops = [...]operation{
	{24, (*client).renew},
	{3, (*client).createMany},
	{14, (*client).setValue},
	{10, (*client).toggleBadge},
	{6, (*client).toggleLabel},
	{4, (*client).exchange},
	{4, (*client).toggleHidden},
	{10, (*client).word},
	{8, (*client).order},
	{6, (*client).command},
	{4, (*client).fleeting},
	{4, (*client).destroyTwice},
	{3, (*client).offer},
}

// weights is the sum of the operations' weights.
var weights = func() (n int) {
	for _, o := range ops {
		n += o.weight
	}
	return n
}()

const (
	floodsOdds = 5_000 // one of so many operations is a flood
	reopenOdds = 50_000
)

// pick chooses what to do next.
func (c *client) pick() func(*client) error {
	switch {
	case c.rand.IntN(floodsOdds) == 0:
		return (*client).flood
	case c.rand.IntN(reopenOdds) == 0:
		return (*client).reopen
	}
	n := c.rand.IntN(weights)
	for i := range ops {
		if n -= ops[i].weight; n < 0 {
			return ops[i].do
		}
	}
	return nil
}

// flood repeats one operation until the queue is full.
func (c *client) flood() error {
	do := ops[c.flooded%len(ops)].do
	c.flooded++
	for range 2 * c.s.config.Queue {
		if err := do(c); err != nil {
			return err
		}
		c.ops.Add(1)
		c.watches.settle(c)
	}
	return nil
}

// reopen closes the port and opens another. It uses the new one only when all that was sent
// through the first must be done.
func (c *client) reopen() error {
	p, err := c.s.w.OpenPort()
	if err != nil {
		return err
	}
	c.port.Close()
	due := c.due()
	c.retired += c.port.Rejected()
	c.port = p
	for c.s.w.Tick() < due && c.s.patience.Err() == nil {
		c.await()
	}
	return nil
}

// renew creates or destroys a guest, so that most places are taken.
func (c *client) renew() error {
	if n := len(c.vacant); n > 0 && (n > len(c.guests)/8 || c.rand.IntN(2) == 0) {
		_, err := c.create()
		return err
	}
	return c.destroy()
}

func (c *client) create() (*entry, error) {
	w := c.begin(false)
	h, err := c.s.guests.Create(c.port, c.next(0))
	if err := c.sent(w, h, world.Applied, err); err != nil {
		return nil, err
	}
	return c.made(h), nil
}

// createMany creates guests in a batch: all of them, or none.
func (c *client) createMany() error {
	n := min(batchMax, len(c.vacant))
	all, err := c.s.guests.AppendN(c.batch[:0], c.port, n, c.fill)
	for _, h := range all {
		c.made(h)
	}
	c.expected[world.Applied] += uint64(len(all))
	if errors.Is(err, world.ErrFull) {
		c.rejected += uint64(n)
	}
	return err
}

func (c *client) destroy() error {
	if e := c.living(); e != nil {
		return c.destroyOne(e)
	}
	return nil
}

func (c *client) destroyOne(e *entry) error {
	w := c.begin(false)
	if err := c.sent(w, e.h, world.Applied, c.port.Destroy(e.h)); err != nil {
		return err
	}
	if w != nil {
		w.destroy = true
	}
	c.lost(e)
	return nil
}

// fleeting creates a guest and destroys it right after.
func (c *client) fleeting() error {
	if len(c.vacant) == 0 {
		return nil
	}
	e, err := c.create()
	if err != nil {
		return err
	}
	return c.destroyOne(e)
}

// destroyTwice destroys a guest twice: the second request finds it gone.
func (c *client) destroyTwice() error {
	e := c.living()
	if e == nil {
		return nil
	}
	h := e.h
	if err := c.destroyOne(e); err != nil {
		return err
	}
	w := c.begin(false)
	return c.sent(w, h, world.Gone, c.port.Destroy(h))
}

func (c *client) setValue() error {
	e := c.living()
	if e == nil {
		return nil
	}
	w := c.begin(false)
	if err := c.sent(w, e.h, world.Applied, c.s.values.Set(c.port, e.h, value{e.value + 1})); err != nil {
		return err
	}
	e.value++
	return nil
}

// toggleBadge adds or removes a badge. At times it removes one that does not
// exist.
func (c *client) toggleBadge() error {
	e := c.living()
	if e == nil {
		return nil
	}
	w := c.begin(false)
	if !e.badge && c.rand.IntN(8) == 0 {
		return c.sent(w, e.h, world.Missing, c.s.badges.Remove(c.port, e.h))
	}
	var err error
	if e.badge {
		err = c.s.badges.Remove(c.port, e.h)
	} else {
		err = c.s.badges.Add(c.port, e.h, badge{e.serial})
	}
	if err := c.sent(w, e.h, world.Applied, err); err != nil {
		return err
	}
	e.badge = !e.badge
	return nil
}

func (c *client) toggleLabel() error {
	e := c.living()
	if e == nil {
		return nil
	}
	w := c.begin(false)
	var err error
	if e.label {
		err = c.s.labels.Remove(c.port, e.h)
	} else {
		err = c.s.labels.Add(c.port, e.h, labelOf(e.serial))
	}
	if err := c.sent(w, e.h, world.Applied, err); err != nil {
		return err
	}
	e.label = !e.label
	return nil
}

// exchange replaces a guest's badge by a label.
func (c *client) exchange() error {
	e := c.living()
	if e == nil {
		return nil
	}
	w := c.begin(false)
	err := c.s.labelled.Add(c.port, e.h, labelled{labelOf(e.serial)}, c.s.badges)
	if err := c.sent(w, e.h, world.Applied, err); err != nil {
		return err
	}
	e.label, e.badge = true, false
	return nil
}

// hidden is the flag of guests that loops skip.
const hidden world.Flags = 1

func (c *client) toggleHidden() error {
	e := c.living()
	if e == nil {
		return nil
	}
	w := c.begin(false)
	var err error
	if e.hidden {
		err = world.Unflag(c.port, e.h, hidden)
	} else {
		err = world.Flag(c.port, e.h, hidden)
	}
	if err := c.sent(w, e.h, world.Applied, err); err != nil {
		return err
	}
	e.hidden = !e.hidden
	return nil
}

// word sends a message to a guest.
func (c *client) word() error {
	e := c.living()
	if e == nil {
		return nil
	}
	if lose := c.s.config.hooks.lose; lose != nil && lose() {
		e.heard++
		return nil
	}
	w := c.begin(false)
	if err := c.sent(w, e.h, world.Applied, c.s.words.Send(c.port, e.h, word{e.heard + 1})); err != nil {
		return err
	}
	e.heard++
	return nil
}

// order sends a message to a veteran.
func (c *client) order() error {
	v := c.rand.IntN(veteransN)
	h := c.s.veterans[v]
	w := c.begin(false)
	if err := c.sent(w, h, world.Applied, c.s.orders.Send(c.port, h, order{c.number, c.orders[v] + 1})); err != nil {
		return err
	}
	c.orders[v]++
	return nil
}

// command sends requests for a dead entity.
func (c *client) command() error {
	if len(c.graves.graves) == 0 {
		return nil
	}
	h := c.graves.graves[c.rand.IntN(len(c.graves.graves))].h
	w := c.begin(false)
	var err error
	switch c.rand.IntN(5) {
	case 0:
		err = c.port.Destroy(h)
	case 1:
		err = c.s.values.Set(c.port, h, value{1 << 30})
	case 2:
		err = c.s.badges.Add(c.port, h, badge{1 << 30})
	case 3:
		err = c.s.labels.Remove(c.port, h)
	default:
		err = c.s.words.Send(c.port, h, word{1 << 30})
	}
	return c.sent(w, h, world.Gone, err)
}

// look checks a handle that is in the book.
func (c *client) look() {
	tick := c.s.w.Tick() // before the status
	switch c.rand.IntN(8) {
	case 0, 1, 2:
		if e := c.living(); e != nil {
			st := c.port.Status(e.h)
			if st != world.Alive && (st != world.Pending || tick >= e.due) || st == world.Alive && !c.port.Alive(e.h) {
				c.s.violate("client %d: guest %v, which nobody was to destroy, is %v in tick %d, %d after it was due", c.number, e.h, st, tick, int64(tick-e.due))
			}
		}
	case 3, 4, 5:
		if n := len(c.graves.graves); n > 0 {
			g := &c.graves.graves[c.rand.IntN(n)]
			c.lookDead(g, tick)
		}
	case 6:
		if h := c.s.veterans[c.rand.IntN(veteransN)]; !c.port.Alive(h) || c.port.Status(h) != world.Alive {
			c.s.violate("client %d: veteran %v is %v", c.number, h, c.port.Status(h))
		}
	default:
		c.lookForged()
	}
}

func (c *client) lookDead(g *grave, tick uint64) {
	st := c.port.Status(g.h)
	if tick >= g.due && (st != world.Stale || c.port.Alive(g.h)) || st == world.Forged || st == world.Unused {
		c.s.violate("client %d: dead %v is %v in tick %d, %d after it was due", c.number, g.h, st, tick, int64(tick-g.due))
	}
}

// lookForged checks a handle that was never given: of a home that does not exist, or
// a version that is far away.
func (c *client) lookForged() {
	h := handle.New(uint32(c.s.w.Shards()+1), c.rand.Uint32N(handle.IndexMax), 1+c.rand.Uint32N(handle.VersionMax-1))
	if e := c.living(); e != nil && c.rand.IntN(2) == 0 && e.h.Version() < handle.VersionMax/2 {
		h = e.h + handle.VersionMax/2
	}
	if st := c.port.Status(h); st != world.Forged || c.port.Alive(h) {
		c.s.violate("client %d: %v, which was never given, is %v", c.number, h, st)
	}
}
