package soak

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

const (
	herdGraves = 4096 // how many dead handles of a herd are kept
	catchUp    = 2    // a late tick replaces at most so many times more
)

// herd is the book of one shard's systems about the animals there. It is correct after
// each line of a system, so a panic leaves no gap.
type herd struct {
	s         *stage
	maker     uint32
	rand      *rand.Rand
	places    []place
	vacant    []uint32
	serial    uint32
	created   uint64
	destroyed uint64
	debt      float64 // animals that are due to be replaced
	atOnce    float64 // how many in one tick, at most
	graves    graveyard
	shouted   []uint32 // accepted, by veteran
	rejected  uint64
	seen      []uint32 // what each veteran had received when it was last checked
}

// place is where an animal is in the book.
type place struct {
	h      handle.Handle // none: vacant
	serial uint32
	seen   uint32 // number of the audit that found it
}

func newHerd(s *stage, maker uint32, size int) *herd {
	h := &herd{
		s: s, maker: maker, rand: s.config.newRand(maker), places: make([]place, size), vacant: make([]uint32, size),
		debt: float64(size*s.config.Churn) / 100, atOnce: catchUp * float64(size*s.config.Churn) / 100 / float64(s.config.Hz),
		graves: newGraveyard(herdGraves), shouted: make([]uint32, veteransN), seen: make([]uint32, veteransN),
	}
	for i := range h.vacant {
		h.vacant[i] = uint32(i)
	}
	return h
}

// breed replaces animals: as many each second as the churn says. It first creates those that a
// panic prevented. A herd begins with the debt of a second,
// so that the warm-up has the largest tick.
func (s *stage) breed(b *world.Build) func(*world.Context) {
	b.Creates(s.animals)
	herd := s.herds[b.Shard()]
	return func(c *world.Context) {
		herd.refill(c)
		herd.debt += float64(len(herd.places)) * float64(s.config.Churn) / 100 * s.elapsed
		for n := int(min(herd.debt, herd.atOnce)); n > 0; n-- {
			herd.debt--
			herd.cull(c)
			if n%64 == 0 {
				herd.stumble()
				herd.refill(c)
			}
		}
		herd.refill(c)
	}
}

// cull destroys an animal.
func (h *herd) cull(c *world.Context) {
	at := h.rand.Uint32N(uint32(len(h.places)))
	p := &h.places[at]
	if p.h == handle.None {
		return
	}
	if err := c.Destroy(p.h); err != nil {
		h.s.violate("animal %v of shard %d cannot be destroyed: %v; it is %v", p.h, h.maker, err, c.Status(p.h))
	}
	h.destroyed++
	h.graves.add(p.h, c.Tick()+1)
	p.h = handle.None
	h.vacant = append(h.vacant, at)
}

// refill creates an animal for each vacant place.
func (h *herd) refill(c *world.Context) {
	for n := len(h.vacant) - 1; n >= 0; n-- {
		at := h.vacant[n]
		serial := h.serial + 1
		made, err := h.s.animals.Create(c, animal{
			tag{h.maker, at, serial}, twin{serial},
			position{h.rand.Float32(), h.rand.Float32()}, velocity{h.rand.Float32() - 0.5, h.rand.Float32() - 0.5},
		})
		if err != nil {
			h.s.violate("shard %d cannot create an animal: %v", h.maker, err)
			return
		}
		h.created++
		h.serial = serial
		h.places[at].h, h.places[at].serial = made, serial
		h.vacant = h.vacant[:n]
		if !c.Alive(made) {
			h.s.violate("new animal %v of shard %d is %v", made, h.maker, c.Status(made))
		}
	}
}

const (
	stumbleOdds = 4000 // a system panics at one of so many chances
	pauseOdds   = 100  // a system of one shard pauses in one of so many ticks
	pauseMax    = 20 * time.Millisecond
	inspectEach = 4   // an animal is looked at each so many ticks
	calls       = 16  // messages that the systems of a shard send in a tick
	watchedN    = 8   // veterans looked at in a tick, by each shard
	floodOdds   = 400 // a shard fills its outbox in one of so many ticks
)

// errStumble is what systems panic with on purpose.
var errStumble = errors.New("stumbled")

// addSystems adds the soak's systems.
func (s *stage) addSystems() error {
	for _, x := range []struct {
		name   string
		system scheduler.System
	}{
		{"drift", s.drift}, {"inspect", s.inspect}, {"obey", s.obey}, {"breed", s.breed}, {"call", s.call}, {"watch", s.watch}, {"pause", s.pause},
	} {
		if err := s.scheduler.Add(x.name, x.system); err != nil {
			return err
		}
	}
	if hook := s.config.hooks.system; hook != nil {
		return s.scheduler.Add("hook", hook)
	}
	return nil
}

// stumble panics by chance.
func (h *herd) stumble() {
	if h.rand.IntN(stumbleOdds) == 0 {
		h.s.thrown.Add(1)
		panic(errStumble)
	}
}

// drift moves the herd, and sometimes panics in the middle.
func (s *stage) drift(b *world.Build) func(*world.Context) {
	pos, vel := world.Write[position](b), world.Read[velocity](b)
	moving := b.Query(pos, vel)
	herd := s.herds[b.Shard()]
	return func(c *world.Context) {
		delta := float32(c.Delta())
		for ch := range moving.Chunks() {
			p, v := pos.Slice(ch), vel.Slice(ch)
			for i := range p {
				p[i].X += v[i].X * delta
				p[i].Y += v[i].Y * delta
			}
			herd.stumble()
		}
	}
}

// inspect checks that the components of a row belong together.
func (s *stage) inspect(b *world.Build) func(*world.Context) {
	tags, twins := world.Read[tag](b), world.Read[twin](b)
	badges, labels := world.Read[badge](b), world.Read[label](b)
	all := b.Query(tags, twins, world.Optional(badges), world.Optional(labels), world.WithoutFlags(b, hidden))
	return func(c *world.Context) {
		n := c.Tick()
		for ch := range all.Chunks() {
			if n++; n%inspectEach != 0 {
				continue
			}
			t, w, g, l := tags.Slice(ch), twins.Slice(ch), badges.Slice(ch), labels.Slice(ch)
			for i := range t {
				if t[i].Serial != w[i].Serial || g != nil && g[i].Serial != t[i].Serial || l != nil && l[i] != labelOf(t[i].Serial) {
					s.violate("row %d of a chunk in shard %d is mixed up: tag %v, twin %v, badge %v, label %v",
						i, c.Shard(), t[i], w[i], at(g, i), at(l, i))
				}
			}
		}
	}
}

// at returns the i-th of a column, or nil if there is none.
func at[T any](column []T, i int) any {
	if column == nil {
		return nil
	}
	return column[i]
}

// call sends messages to veterans, now and then until the outbox is full.
func (s *stage) call(b *world.Build) func(*world.Context) {
	herd := s.herds[b.Shard()]
	return func(c *world.Context) {
		if s.quiet {
			return
		}
		n := calls
		if herd.rand.IntN(floodOdds) == 0 {
			n = 2 * outboxRequests
		}
		for range n {
			v := herd.rand.IntN(veteransN)
			switch err := s.shouts.Send(c, s.veterans[v], shout{herd.maker, herd.shouted[v] + 1}); {
			case err == nil:
				herd.shouted[v]++
			case errors.Is(err, world.ErrFull):
				herd.rejected++
			default:
				s.violate("shard %d cannot send to veteran %v: %v", c.Shard(), s.veterans[v], err)
			}
		}
		herd.stumble()
	}
}

// watch reads veterans in any shard, as the systems before it left them.
func (s *stage) watch(b *world.Build) func(*world.Context) {
	tags, ears := world.ReadForeign[tag](b), world.ReadForeign[ear](b)
	herd := s.herds[b.Shard()]
	return func(c *world.Context) {
		for range watchedN {
			v := herd.rand.IntN(veteransN)
			t, ok := tags.Get(s.veterans[v])
			e, hears := ears.Get(s.veterans[v])
			if !ok || !hears || t != (tag{veteranMaker, uint32(v), uint32(v) + 1}) || e.Heard < herd.seen[v] {
				s.violate("veteran %v as seen from shard %d: tag %v, ear %v after %d", s.veterans[v], c.Shard(), t, e, herd.seen[v])
			}
			herd.seen[v] = e.Heard
		}
	}
}

// pause pauses at times.
func (s *stage) pause(b *world.Build) func(*world.Context) {
	herd := s.herds[b.Shard()]
	return func(*world.Context) {
		if herd.rand.IntN(pauseOdds) == 0 {
			time.Sleep(time.Duration(herd.rand.Int64N(int64(pauseMax))))
		}
	}
}

// hearing is the last message of each sender to one veteran. It belongs to the shard
// that the veteran is in.
type hearing struct {
	orders []uint32 // by client
	shouts []uint32 // by shard
}

// obey receives the messages. From each sender all accepted ones must come, once and in the order
// sent.
func (s *stage) obey(b *world.Build) func(*world.Context) {
	tags, ears := world.Read[tag](b), world.Write[ear](b)
	words, orders, shouts := world.Receive[word](b), world.Receive[order](b), world.Receive[shout](b)
	herd := s.herds[b.Shard()]
	return func(c *world.Context) {
		for _, e := range words.All() {
			if g := ears.Get(e.To); g != nil { // nil if it died
				s.hear(e.To, &g.Heard, e.Body.N)
			}
		}
		for _, e := range orders.All() {
			if v := s.veteran(c, tags, ears, e.To); v != nil {
				s.hear(e.To, &v.orders[e.Body.Client], e.Body.N)
			}
		}
		for _, e := range shouts.All() {
			if v := s.veteran(c, tags, ears, e.To); v != nil {
				s.hear(e.To, &v.shouts[e.Body.Shard], e.Body.N)
			}
		}
		herd.stumble()
	}
}

// hear checks that message n of a sender is the one after the last.
func (s *stage) hear(who handle.Handle, last *uint32, n uint32) {
	if n != *last+1 {
		s.violate("%v hears message %d of a sender after %d", who, n, *last)
	}
	*last = n
}

// veteran returns what a veteran received, and counts one message more.
func (s *stage) veteran(c *world.Context, tags *world.Reader[tag], ears *world.Writer[ear], h handle.Handle) *hearing {
	l := c.Locate(h)
	t, e := tags.At(l), ears.At(l)
	if t == nil || e == nil || t.Maker != veteranMaker {
		s.violate("%v, which is sent messages as a veteran, is %v", h, c.Status(h))
		return nil
	}
	e.Heard++
	return &s.hearing[t.Place]
}
