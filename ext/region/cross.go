package region

import "github.com/atoll-sim/atoll/world"

// System is the constructor of the system that moves entities which have crossed a
// border. Add it after those that change positions:
//
//	s.MustAdd("cross", grid.System, scheduler.In(scheduler.PostUpdate))
//
// It reads P of every entity that has one, which costs about 5 ns for
// each. It requests moves for entities beyond a border by more than the margin, in the order of the
// rows, at most Limit. If the shard's outbox is full, it requests the move again in the next tick.
func (g *Grid[P]) System(b *world.Build) func(*world.Context) {
	if b.Shard() == world.AllShards {
		panic("region: Grid.System is to run on each shard; add it without scheduler.Global")
	}
	pos := world.Read[P](b)
	all := b.Query(pos)
	home, own := g.home[b.Shard()], b.Shard()
	return func(c *world.Context) {
		left := g.o.Limit
		for ch := range all.Chunks() {
			for i, p := range pos.Slice(ch) {
				x, y := g.at(p)
				if !(x < home.left || x >= home.right || y < home.bottom || y >= home.top) {
					continue
				}
				to, h := g.shard(x, y), ch.Handle(i)
				if to == own || c.Status(h) != world.Alive { // the dying stay
					continue
				}
				if left == 0 || world.Move(c, h, to) != nil {
					return
				}
				left--
			}
		}
	}
}
