package soak

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// audit compares the whole world with all books. All clients rest, every queue is
// empty and every message is delivered.
type audit struct {
	*stage
	number uint32
	tags   *world.Reader[tag]
	values *world.Reader[value]
	ears   *world.Reader[ear]
	stats  world.Stats
	seen   int
}

func (s *stage) audit(number uint32) *world.Stats {
	a := &audit{stage: s, number: number, tags: world.Read[tag](s.w), values: world.Read[value](s.w), ears: world.Read[ear](s.w)}
	s.w.Stats(&a.stats)
	for ch := range s.w.Query(a.tags, world.WithoutFlags(s.w, hidden)).Chunks() {
		t := a.tags.Slice(ch)
		for i, h := range ch.Handles() {
			s.row(a.tags, h, &t[i])
			a.see(h, &t[i])
		}
	}
	a.unseen()
	a.totals()
	return &a.stats
}

// see finds the book that an entity is in.
func (a *audit) see(h handle.Handle, t *tag) {
	a.seen++
	switch m := t.Maker; {
	case m < uint32(len(a.herds)) && t.Place < uint32(len(a.herds[m].places)):
		p := &a.herds[m].places[t.Place]
		if p.h != h || p.serial != t.Serial || p.seen == a.number {
			a.violate("animal %v has tag %v; the book has %v, number %d", h, *t, p.h, p.serial)
		}
		p.seen = a.number
	case m >= guestMaker && m < guestMaker+uint32(len(a.clients)) && t.Place < uint32(len(a.clients[m-guestMaker].guests)):
		e := &a.clients[m-guestMaker].guests[t.Place]
		if e.h != h || e.serial != t.Serial || e.seen == a.number {
			a.violate("guest %v of client %d has tag %v; its book has %v, number %d", h, m-guestMaker, *t, e.h, e.serial)
		}
		e.seen = a.number
		a.guest(e)
	case m == veteranMaker && t.Place < veteransN && a.veterans[t.Place] == h:
	default:
		a.violate("%v has tag %v, which is in no book", h, *t)
	}
}

// guest checks everything that a client knows of its guest.
func (a *audit) guest(e *entry) {
	w := a.w
	v, x := a.values.Get(e.h), a.ears.Get(e.h)
	if v == nil || x == nil || v.N != e.value || x.Heard != e.heard {
		a.violate("guest %v has %v and %v, want value %d and %d heard", e.h, v, x, e.value, e.heard)
	}
	if w.Has(e.h, a.badges) != e.badge || w.Has(e.h, a.labels) != e.label || (world.FlagsOf(w, e.h) == hidden) != e.hidden {
		a.violate("guest %v: badge %v, label %v, flags %b, want %v, %v, hidden %v", e.h,
			w.Has(e.h, a.badges), w.Has(e.h, a.labels), world.FlagsOf(w, e.h), e.badge, e.label, e.hidden)
	}
}

// unseen finds entities that are in a book and were not seen. Loops skip hidden ones:
// they are found by their handles.
func (a *audit) unseen() {
	for _, d := range a.herds {
		for i := range d.places {
			if p := &d.places[i]; p.h != handle.None && p.seen != a.number {
				a.violate("animal %v, number %d of shard %d, is in no table; it is %v", p.h, p.serial, d.maker, a.w.Status(p.h))
			}
		}
		for _, g := range d.graves.graves {
			a.gone(g.h)
		}
	}
	for _, c := range a.clients {
		for i := range c.guests {
			e := &c.guests[i]
			if e.h == handle.None || e.seen == a.number {
				continue
			}
			if t := a.tags.Get(e.h); e.hidden && t != nil && *t == (tag{guestMaker + c.number, e.place, e.serial}) {
				a.row(a.tags, e.h, t)
				a.see(e.h, t)
				continue
			}
			a.violate("guest %v, number %d of client %d, is in no table; it is %v", e.h, e.serial, c.number, a.w.Status(e.h))
		}
		for _, g := range c.graves.graves {
			a.gone(g.h)
		}
	}
}

func (a *audit) gone(h handle.Handle) {
	if st := a.w.Status(h); st != world.Stale || a.w.Alive(h) {
		a.violate("dead %v is %v", h, st)
	}
}

// totals compares the world's counts with the sums of the books.
func (a *audit) totals() {
	var created, destroyed, rejected, told, shouts uint64
	var expected [5]uint64
	heard := make([]uint32, veteransN)
	for _, d := range a.herds {
		created, destroyed, rejected = created+d.created, destroyed+d.destroyed, rejected+d.rejected
		for v, n := range d.shouted {
			heard[v] += n
			shouts += uint64(n)
		}
	}
	told = rejected
	for _, c := range a.clients {
		created, destroyed, rejected = created+c.created, destroyed+c.destroyed, rejected+c.rejected
		told += c.port.Rejected() + c.retired
		for o, n := range c.expected {
			expected[o] += n
		}
		for v, n := range c.orders {
			heard[v] += n
		}
	}
	a.expect("entities", uint64(a.stats.Entities), uint64(a.seen))
	a.expect("entities created", a.stats.Created, created+veteransN)
	a.expect("entities destroyed", a.stats.Destroyed, destroyed)
	a.expect("requests rejected", a.stats.Rejected, rejected)
	a.expect("rejections that ports count", told, rejected)
	a.expect("requests applied", a.stats.Applied, expected[world.Applied]+shouts)
	a.expect("requests gone", a.stats.Gone, expected[world.Gone])
	a.expect("requests missing", a.stats.Missing, expected[world.Missing])
	a.expect("requests refused", a.stats.Refused, 0)
	for v, h := range a.veterans {
		if e := a.ears.Get(h); e == nil || e.Heard != heard[v] {
			a.violate("veteran %v has heard %v messages, want %d", h, e, heard[v])
		}
	}
}
