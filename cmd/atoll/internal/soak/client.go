package soak

import (
	"errors"
	"math/rand/v2"
	"time"

	"go.uber.org/atomic"

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

// newClient makes a client with places for so many guests.
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
func (c *contest) decide(by *client, o world.Outcome) {
	switch o {
	case world.Applied:
		by.destroyed++
		c.applied.Inc()
	case world.Gone:
	default:
		by.s.violate("client %d: destroying %v is told %v", by.number, c.h, o)
	}
	by.expected[o]++
	if c.told.Inc() != 2 {
		return
	}
	if n := c.applied.Load(); n != 1 {
		by.s.violate("%v was destroyed by %d of two who asked for it", c.h, n)
	}
	c.busy.Store(false)
	by.s.rest.contests.Dec()
}

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
	{14, guestly((*client).setValue)},
	{10, guestly((*client).toggleBadge)},
	{6, guestly((*client).toggleLabel)},
	{4, guestly((*client).exchange)},
	{4, guestly((*client).toggleHidden)},
	{10, guestly((*client).word)},
	{8, (*client).order},
	{6, (*client).command},
	{4, (*client).fleeting},
	{4, guestly((*client).destroyTwice)},
	{3, (*client).offer},
}

// guestly is an operation on a living guest, if there is one.
func guestly(do func(*client, *entry) error) func(*client) error {
	return func(c *client) error {
		if e := c.living(); e != nil {
			return do(c, e)
		}
		return nil
	}
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
	return guestly((*client).destroyOne)(c)
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
func (c *client) destroyTwice(e *entry) error {
	h := e.h
	if err := c.destroyOne(e); err != nil {
		return err
	}
	w := c.begin(false)
	return c.sent(w, h, world.Gone, c.port.Destroy(h))
}

func (c *client) setValue(e *entry) error {
	w := c.begin(false)
	if err := c.sent(w, e.h, world.Applied, c.s.values.Set(c.port, e.h, value{e.value + 1})); err != nil {
		return err
	}
	e.value++
	return nil
}

// toggleBadge adds or removes a badge. At times it removes one that does not
// exist.
func (c *client) toggleBadge(e *entry) error {
	if !e.badge && c.rand.IntN(8) == 0 {
		w := c.begin(false)
		return c.sent(w, e.h, world.Missing, c.s.badges.Remove(c.port, e.h))
	}
	return c.toggle(e, &e.badge,
		func() error { return c.s.badges.Add(c.port, e.h, badge{e.serial}) },
		func() error { return c.s.badges.Remove(c.port, e.h) })
}

// toggle adds or removes what a guest has or has not.
func (c *client) toggle(e *entry, has *bool, add, remove func() error) error {
	w, change := c.begin(false), add
	if *has {
		change = remove
	}
	if err := c.sent(w, e.h, world.Applied, change()); err != nil {
		return err
	}
	*has = !*has
	return nil
}

func (c *client) toggleLabel(e *entry) error {
	return c.toggle(e, &e.label,
		func() error { return c.s.labels.Add(c.port, e.h, labelOf(e.serial)) },
		func() error { return c.s.labels.Remove(c.port, e.h) })
}

// exchange replaces a guest's badge by a label.
func (c *client) exchange(e *entry) error {
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

func (c *client) toggleHidden(e *entry) error {
	return c.toggle(e, &e.hidden,
		func() error { return world.AddFlags(c.port, e.h, hidden) },
		func() error { return world.RemoveFlags(c.port, e.h, hidden) })
}

// word sends a message to a guest.
func (c *client) word(e *entry) error {
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
func (w *watches) begin() *watch {
	if w.next-w.first == watchesMax {
		return nil
	}
	one := &w.ring[w.next%watchesMax]
	w.next++
	one.contest, one.destroy = nil, false
	return one
}

// drop removes the newest, whose request was not accepted.
func (w *watches) drop() { w.next-- }

// newest returns the newest that is not settled, or nil.
func (w *watches) newest() *watch {
	if w.next == w.first {
		return nil
	}
	return &w.ring[(w.next-1)%watchesMax]
}

// settle checks the outcomes that have arrived.
func (w *watches) settle(c *client) {
	for w.first < w.next {
		one := &w.ring[w.first%watchesMax]
		o := one.done.Outcome()
		if o == world.Undecided {
			return
		}
		w.first++
		if one.contest != nil {
			one.contest.decide(c, o)
		} else if o != one.want {
			c.s.violate("client %d: a request on %v is told %v, want %v", c.number, one.h, o, one.want)
		}
		if gone := one.destroy && o == world.Applied || o == world.Gone; gone && (c.port.Alive(one.h) || c.port.Status(one.h) != world.Stale) {
			c.s.violate("client %d: a request on %v is told %v, and it is %v", c.number, one.h, o, c.port.Status(one.h))
		}
	}
}
