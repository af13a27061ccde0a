package realm

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// fight lets each creature attack an entity in its cell, at ticks that follow from its handle. It
// also sends the next island rumours of some entities that live here, and attacks those in the
// rumours of the island before. They may be dead by now, which does no harm. Attacks land in the
// next tick.
func (r *Realm) fight(b *world.Build) func(*world.Context) {
	pos, strength := world.Read[Position](b), world.Read[Creature](b)
	creatures := b.Query(pos, strength)
	heard := world.Receive[rumour](b)
	isle := r.island(b)
	next := denOf((b.Shard() + 1) % b.Shards())
	return func(c *world.Context) {
		turn := uint32(c.Tick() % attackPeriod)
		for ch := range creatures.Chunks() {
			p, s := pos.Slice(ch), strength.Slice(ch)
			for i, h := range ch.Handles() {
				if h.Index()%attackPeriod != turn {
					continue
				}
				if target := isle.neighbour(p[i], h); target != handle.None {
					isle.sent(r.blows.Send(c, target, blow{From: h, Damage: s[i].Strength}))
				}
			}
		}
		for _, e := range heard.All() {
			raider := isle.anybody()
			if s := strength.Get(raider); s != nil {
				isle.sent(r.blows.Send(c, e.Body.Who, blow{From: raider, Damage: s.Strength}))
			}
		}
		for range (len(isle.people.entries) + rumourPeople - 1) / rumourPeople {
			isle.sent(r.rumours.Send(c, next, rumour{isle.anybody()}))
		}
	}
}

// neighbour returns another entity in the cell of p, or none.
func (i *island) neighbour(p Position, self handle.Handle) handle.Handle {
	near := i.people.cell(p)
	if len(near) < 2 {
		return handle.None
	}
	at := i.dice.IntN(len(near))
	if near[at].who == self {
		at = (at + 1) % len(near)
	}
	return near[at].who
}

// anybody returns a creature or avatar of the island, or none.
func (i *island) anybody() handle.Handle {
	if n := len(i.people.entries); n > 0 {
		return i.people.entries[i.dice.IntN(n)].who
	}
	return handle.None
}
