package realm

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

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
