package pairs_test

import (
	"math/rand/v2"

	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

type randomNumbers = *rand.Rand

// reopen closes ports behind what they have sent, and opens others.
func reopen() *feature {
	return &feature{
		name: "reopen",
		between: func(s *scene) {
			for i := range s.ports {
				if s.coin() {
					continue
				}
				for range 50 {
					s.byPort(s.ports[i], spawn(&s.drawer, 1), s.coin())
					s.byPort(s.ports[i], kill(s.someone()), s.coin())
				}
				s.ports[i].Close()
				p, err := s.OpenPort()
				s.must(err == nil, "OpenPort: %v", err)
				s.ports[i] = p
			}
		},
	}
}

// wear gives slots few versions, so that they are used up.
func wear() *feature {
	return &feature{
		name:    "wear",
		options: func(_ randomNumbers, o *world.Options) { o.VersionMax = 3 },
	}
}

// order keeps the order of rows.
func order() *feature {
	return &feature{
		name:    "order",
		options: func(_ randomNumbers, o *world.Options) { o.KeepOrder = true },
	}
}

// shrinkTicks is how long a shard that has more spare rows than entities keeps them at most,
// and a tick more: they are looked at every 8 ticks, and go when they were spare for 8.
const shrinkTicks = 17

// shrink creates many entities and destroys nearly all. Behind every third tick are some in
// which nobody does anything, so that tables and chunks are given back.
func shrink() *feature {
	return &feature{
		name: "shrink",
		between: func(s *scene) {
			times := 3
			if check.Enabled {
				times = 1
			}
			for range times {
				s.byIdle(spawn(&s.drawer, 1500))
			}
			s.know()
			for _, h := range s.known {
				if s.n(20) > 0 {
					s.byIdle(kill(h))
				}
			}
		},
	}
}

// mustShrink checks that no shard has kept many empty chunks. A Balancer goes on using them.
func (s *scene) mustShrink() {
	if s.plan.has("level") {
		return
	}
	for i := range s.Shards() {
		alive, spare := 0, 0
		for _, t := range engine.Of(s.World).Survey().Shard(i).Tables() {
			for _, c := range t.Chunks() {
				n := len(c.Handles())
				if alive += n; n == 0 {
					spare += c.Cap()
				}
			}
		}
		s.must(spare <= max(alive, 1024), "shard %d has %d spare rows beside %d entities", i, spare, alive)
	}
}
