package realm

import (
	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// newInventory makes the relation of items to their carriers, and to the items
// that they are stacked on. An item without a parent lies on the ground. There is no other
// record of that, and an item has at most one parent, so it cannot be in two places.
func newInventory(w *world.World, creatures int) *hierarchy.Relation {
	return hierarchy.New(w, "inventory", hierarchy.Options{
		OnParentDeath: hierarchy.Orphan, // it falls to the ground
		OnChildDeath:  hierarchy.Hole,
		Places:        placesMax,
		Tree: hierarchy.TreeOptions{
			Buckets: []int{placesMax},
			Reserve: hierarchy.Room{Entities: 2 * creatures, Parents: creatures, Buckets: []int{creatures / carryOdds}},
		},
	})
}

// equip gives a new creature an item, if it is one of those that carry
// one. Both are in the relation from the refresh on.
func (r *Realm) equip(c *world.Context, isle *island, who handle.Handle, beast *Creature, at Position) {
	if isle.dice.IntN(carryOdds) > 0 {
		return
	}
	it, err := r.items.Create(c, item{
		at, Item{Worth: 1 + isle.dice.Int32N(worthMax), Sort: uint8(isle.dice.IntN(itemSorts))}, Litter{},
	})
	if !isle.sent(err) {
		return
	}
	isle.created(Items)
	if isle.sent(r.Inventory.AddChild(c, who, it)) {
		beast.Items++
		return
	}
	must(c.Destroy(it)) // too many requests of the island in this tick
	isle.destroyed(Items, it)
}

// drop places the items of an entity that dies at this refresh where the entity stood. The
// relation's policy removes them from the inventory. An item that comes into the inventory in the
// same refresh, by a trade or a take, lies where it last did.
func (s *striker) drop(c *world.Context, who handle.Handle, at Position) {
	for it := range s.bags.Each(who) {
		s.isle.sent(s.position.Set(c, it, at))
		s.isle.sent(s.litter.Set(c, it, Litter{Expires: c.Tick() + itemLife}))
		if !c.Owns(it) {
			s.isle.sent(world.Move(c, it, c.Shard()))
		}
	}
}
