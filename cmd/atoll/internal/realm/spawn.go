package realm

import "github.com/atoll-sim/atoll/world"

// spawn creates a creature for each that died; in the first tick, all of them.
func (r *Realm) spawn(b *world.Build) func(*world.Context) {
	b.Creates(r.creatures)
	isle := r.island(b)
	return func(c *world.Context) {
		for missing := isle.share - isle.ledger.alive(Creatures); missing > 0; missing-- {
			_, err := r.creatures.Create(c, creature{
				isle.place(), isle.heading(), Health{creatureHealth}, Creature{strengthMin + isle.dice.Int32N(strengthMax-strengthMin+1)},
			})
			if !isle.sent(err) {
				return // the world is full; the next tick tries again
			}
			isle.created(Creatures)
		}
	}
}
