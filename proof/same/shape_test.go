package same_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/atoll-sim/atoll/world"
)

// shape is what must not show.
type shape struct {
	options world.Options
	workers int
	procs   int
	reserve int  // rows that a bundle makes room for ahead: chunks of another size
	placed  bool // by key, rather than round robin
	every   int  // refresh after so many entries, rather than where the log says; 0: as it says
}

func (s shape) String() string {
	return fmt.Sprintf("%d shards, %d workers, %d processors, order kept %t, %d rows reserved, placed %t, refreshed every %d entries, queues of %d requests, %d bytes, outboxes of %d, %d",
		s.options.Shards, s.workers, s.procs, s.options.KeepOrder, s.reserve, s.placed, s.every,
		s.options.QueueRequests, s.options.QueueBytes, s.options.OutboxRequests, s.options.OutboxBytes)
}

// plain is the shape that others are compared with: all on one goroutine.
func plain() shape { return shape{options: world.Options{Shards: 1}, workers: 1, procs: 1} }

// newShape draws another. Its queues hold what a log sends between two refreshes, at least.
func newShape(r *rand.Rand) shape {
	return shape{
		options: world.Options{
			Shards: 1 + r.IntN(9), KeepOrder: r.IntN(3) == 0, VersionMax: 1<<20 + r.Uint32N(1<<20),
			QueueRequests: 1<<13 + r.IntN(1<<15), QueueBytes: 1<<21 + r.IntN(1<<22),
			OutboxRequests: 1<<13 + r.IntN(1<<15), OutboxBytes: 1<<21 + r.IntN(1<<22),
		},
		workers: 1 + r.IntN(8), procs: 1 + r.IntN(4), reserve: []int{0, 10, 300, 5000}[r.IntN(4)], placed: r.IntN(2) == 0,
	}
}
