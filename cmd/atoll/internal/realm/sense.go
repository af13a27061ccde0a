package realm

import "github.com/atoll-sim/atoll/world"

// sense makes the island's grids anew.
func (r *Realm) sense(b *world.Build) func(*world.Context) {
	pos := world.Read[Position](b)
	people := b.Query(pos, world.With[Health](b))
	litter := b.Query(pos, world.With[Item](b))
	isle := r.island(b)
	return func(*world.Context) {
		isle.people.rebuild(people, pos)
		isle.litter.rebuild(litter, pos)
	}
}
