package pairs_test

import "github.com/atoll-sim/atoll/world"

// coalesce makes small tables outgrow their chunks, so that each refresh has chunks to
// coalesce in many tables of all shards.
func coalesce() *feature {
	return &feature{
		name:    "coalesce",
		options: func(_ randomNumbers, o *world.Options) { o.ChunkRowsFirst, o.ChunkRowsFactor = 4, 2 },
		between: func(s *scene) {
			for range 4 {
				if s.crowd < population*2 {
					a := spawn(&s.drawer, 60+s.n(100))
					s.byPort(s.ports[s.n(len(s.ports))], a, false)
				}
			}
		},
	}
}
