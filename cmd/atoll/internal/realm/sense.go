package realm

import "github.com/atoll-sim/atoll/world"

// sense makes the island's grids anew.
func (r *Realm) sense(b *world.Build) func(*world.Context) {
	pos := world.Read[Position](b)
	people := b.Query(pos, world.With[Health](b))
	litter := b.Query(pos, world.With[Item](b))
	bags, isle := r.Inventory.Read(b), r.island(b)
	return func(*world.Context) {
		isle.people.rebuild(people, pos, nil)
		isle.litter.rebuild(litter, pos, bags)
	}
}
