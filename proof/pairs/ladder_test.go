package pairs_test

import (
	"math"
	"math/rand/v2"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

const (
	optional  = "an optional system"
	stretched = "how many ticks a turn takes"
)

// rungs is a ladder. Ports are refused by Run alone.
func rungs() []scheduler.Rung {
	return []scheduler.Rung{scheduler.SkipOptional(), scheduler.Stretch(4), scheduler.Slow(2)}
}

// rungAt is how many rungs are in force in a tick. A replay is not told: the log has it.
func rungAt(seed, tick uint64) uint8 {
	return uint8(rand.New(rand.NewPCG(seed, tick)).IntN(len(rungs()) + 1))
}

// ladder goes up and down the scheduler's ladder, as if some ticks took too long.
func ladder() *feature {
	return &feature{
		name: "ladder",
		prepare: func(o *objects) {
			o.ticks.MustAdd("optional", func(*world.Build) func(*world.Context) {
				return func(c *world.Context) { o.note(c, optional, handle.None, 1) }
			}, scheduler.Optional())
			o.ticks.MustAdd("stretched", func(b *world.Build) func(*world.Context) {
				q := b.Query(world.Turns(b, 2))
				return func(c *world.Context) {
					o.note(c, stretched, handle.None, int64(math.Round(q.Delta()/c.Delta())))
				}
			})
		},
		check: func(s *scene) {
			rung, turn := rungAt(s.seed(), s.Tick()-1), int64(2)
			if rung >= 2 {
				turn *= 4
			}
			for i, notes := range s.notes[:s.Shards()] {
				ran := false
				for _, n := range notes {
					ran = ran || n.what == optional
					s.must(n.what != stretched || n.v == turn, "a turn takes %d ticks on shard %d at rung %d", n.v, i, rung)
				}
				s.must(ran == (rung == 0), "on shard %d the optional system ran: %v, at rung %d", i, ran, rung)
			}
		},
	}
}
