package realm

import "github.com/atoll-sim/atoll/world"

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
