package realm

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// expire destroys the items that lay on the ground too long.
func (r *Realm) expire(b *world.Build) func(*world.Context) {
	litter := world.Read[Litter](b)
	all := b.Query(litter, world.With[Item](b))
	bags, isle := r.Inventory.Read(b), r.island(b)
	return func(c *world.Context) {
		for ch := range all.Chunks() {
			for i, l := range litter.Slice(ch) {
				if h := ch.Handle(i); l.Expires <= c.Tick() && bags.Parent(h) == handle.None {
					must(c.Destroy(h))
					isle.destroyed(Items, h)
				}
			}
		}
	}
}
