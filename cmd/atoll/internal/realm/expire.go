package realm

import "github.com/atoll-sim/atoll/world"

// expire destroys the items that lay too long.
func (r *Realm) expire(b *world.Build) func(*world.Context) {
	items := world.Write[Item](b)
	all := b.Query(items)
	isle := r.island(b)
	return func(c *world.Context) {
		for ch := range all.Chunks() {
			it := items.Slice(ch)
			for i := range it {
				if it[i].Expires <= c.Tick() && !it[i].Leaving {
					isle.remove(c, ch.Handle(i), &it[i])
				}
			}
		}
	}
}
