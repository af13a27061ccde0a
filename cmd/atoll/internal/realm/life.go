package realm

import (
	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/shard"
	"github.com/atoll-sim/atoll/world"
)

// wander moves everything that has a velocity. Each creature changes its
// direction now and then, in ticks that follow from its handle.
func (r *Realm) wander(b *world.Build) func(*world.Context) {
	pos, vel := world.Write[Position](b), world.Write[Velocity](b)
	creatures := b.Query(vel, world.With[Creature](b))
	moving := b.Query(pos, vel)
	isle, shore := r.island(b), r.extent()
	return func(c *world.Context) {
		turn := uint32(c.Tick() % turnPeriod)
		for ch := range creatures.Chunks() {
			v := vel.Slice(ch)
			for i, h := range ch.Handles() {
				if h.Index()%turnPeriod == turn {
					v[i] = isle.heading()
				}
			}
		}
		delta := float32(c.Delta())
		for ch := range moving.Chunks() {
			p, v := pos.Slice(ch), vel.Slice(ch)
			for i := range p {
				p[i].X, v[i].X = step(p[i].X, v[i].X, delta, shore.X)
				p[i].Y, v[i].Y = step(p[i].Y, v[i].Y, delta, shore.Y)
			}
		}
	}
}

// step moves along one axis, and turns around at the shore.
func step(at, velocity, delta, shore float32) (float32, float32) {
	at += velocity * delta
	switch {
	case at < 0:
		return -at, -velocity
	case at > shore:
		return 2*shore - at, -velocity
	}
	return at, velocity
}

// sense rebuilds the island's grids. Items in an inventory are not in a grid.
func (r *Realm) sense(b *world.Build) func(*world.Context) {
	pos, litter := world.Read[Position](b), world.Read[Litter](b)
	people := b.Query(pos, world.With[Health](b))
	items := b.Query(pos, litter)
	bags, isle := r.Inventory.Read(b), r.island(b)
	return func(*world.Context) {
		isle.people.rebuild(people, pos)
		isle.lying = isle.lying[:0]
		for ch := range items.Chunks() {
			who, at := ch.Handles(), pos.Slice(ch)
			for i, l := range litter.Slice(ch) {
				if l.Expires > 0 && bags.Parent(who[i]) == handle.None {
					isle.lying = append(isle.lying, entry{who[i], at[i]})
				}
			}
		}
		isle.litter.sort(isle.lying)
	}
}

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

// striker is the strike system of one island.
type striker struct {
	*Realm
	isle   *island
	bags   *hierarchy.Reader
	pos    *world.Writer[Position]
	health *world.Writer[Health]
	beast  *world.Reader[Creature]
	avatar *world.Writer[Avatar]
}

// strike applies the attacks of the tick before. A creature
// that is hit by an avatar and survives hits back, wherever the avatar is.
func (r *Realm) strike(b *world.Build) func(*world.Context) {
	s := &striker{
		Realm: r, isle: r.island(b), bags: r.Inventory.Read(b),
		pos: world.Write[Position](b), health: world.Write[Health](b), beast: world.Read[Creature](b), avatar: world.Write[Avatar](b),
	}
	world.Write[Litter](b) // for drop
	hits := world.Receive[blow](b)
	return func(c *world.Context) {
		for _, hit := range hits.All() {
			at := c.Locate(hit.To)
			health := s.health.At(at)
			if health == nil || health.Points <= 0 { // an earlier attack killed it
				continue
			}
			s.isle.ledger.Blows++
			if !c.Owns(hit.Body.From) && c.Alive(hit.Body.From) {
				s.isle.ledger.Abroad++
			}
			health.Points -= hit.Body.Damage
			if health.Points <= 0 {
				s.kill(c, hit.To, at)
			} else if beast := s.beast.At(at); beast != nil && hit.Body.ByAvatar {
				s.isle.sent(r.blows.Send(c, hit.Body.From, blow{From: hit.To, Damage: beast.Strength}))
			}
		}
	}
}

// kill destroys an entity without health.
func (s *striker) kill(c *world.Context, who handle.Handle, at shard.Loc) {
	must(c.Destroy(who))
	s.drop(c, who, *s.pos.At(at))
	if a := s.avatar.At(at); a != nil {
		s.isle.destroyed(Avatars, who)
		if a.Deal.Open {
			s.isle.ledger.Late++
			s.tell(s.isle, a.Client, Reply{Seq: a.Deal.Seq, Verb: a.Deal.Verb, Outcome: world.Gone})
			a.Deal = Deal{}
		}
		s.tell(s.isle, a.Client, Reply{Death: true, Who: who})
		return
	}
	s.isle.destroyed(Creatures, who)
}

// expire destroys the items that lay on the ground too long. It also checks regularly the items
// that never lay there: an item may have lost its place when its holder left, or in a refresh in
// which its new holder died.
func (r *Realm) expire(b *world.Build) func(*world.Context) {
	litter := world.Read[Litter](b)
	all := b.Query(litter, world.With[Item](b))
	bags, isle := r.Inventory.Read(b), r.island(b)
	return func(c *world.Context) {
		turn := uint32(c.Tick() % turnPeriod)
		for ch := range all.Chunks() {
			for i, l := range litter.Slice(ch) {
				h := ch.Handle(i)
				if l.Expires > c.Tick() || l.Expires == 0 && h.Index()%turnPeriod != turn {
					continue
				}
				if bags.Parent(h) == handle.None {
					must(c.Destroy(h))
					isle.destroyed(Items, h)
				}
			}
		}
	}
}

// spawn creates a creature for each that died, with what it carries; in the first
// tick, all of them.
func (r *Realm) spawn(b *world.Build) func(*world.Context) {
	b.Creates(r.creatures)
	b.Creates(r.items)
	beast := world.Write[Creature](b)
	isle := r.island(b)
	return func(c *world.Context) {
		for missing := isle.share - isle.ledger.alive(Creatures); missing > 0; missing-- {
			at := isle.place()
			h, err := r.creatures.Create(c, creature{
				at, isle.heading(), Health{creatureHealth}, Creature{Strength: strengthMin + isle.dice.Int32N(strengthMax-strengthMin+1)},
			})
			if !isle.sent(err) {
				return // the world is full; the next tick tries again
			}
			isle.created(Creatures)
			r.equip(c, isle, h, beast.Get(h), at)
		}
	}
}
