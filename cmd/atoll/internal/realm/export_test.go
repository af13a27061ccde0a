package realm

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// Nearest returns who is nearest on an island, as of the last tick.
func (r *Realm) Nearest(island int, p Position, except handle.Handle) handle.Handle {
	return r.islands[island].people.nearest(p, except)
}

// NearestItem returns the item on the ground that is nearest on an island, as of the
// last tick.
func (r *Realm) NearestItem(island int, p Position) handle.Handle {
	return r.islands[island].litter.nearest(p, handle.None)
}

// CreateItem makes an item that lies on the ground, in the books as well. No tick
// may be running.
func (r *Realm) CreateItem(worth int32, expires uint64) (handle.Handle, error) {
	h, err := r.items.Create(r.World, item{Item: Item{Worth: worth}, Litter: Litter{expires}})
	r.islands[h.Home()].created(Items)
	return h, err
}

// Strike sends an attack as an avatar's.
func (r *Realm) Strike(by world.Actor, from, to handle.Handle, damage int32) error {
	return r.blows.Send(by, to, blow{From: from, Damage: damage, ByAvatar: true})
}
