package realm

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

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
