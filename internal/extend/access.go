package extend

import "github.com/atoll-sim/atoll/internal/store"

// Access is what a system may touch, as found by running its constructor.
//
// Ownership: the Build until it is finished, then the scheduler; any goroutine that runs the
// system reads it.
type Access struct {
	Reads     store.Set // components read in the system's own shard, or by a global system in all shards
	Writes    store.Set // components written or created there
	Foreign   store.Set // components read in other shards, any of them
	Neighbour store.Set // components read in the Neighbours

	Neighbours []int // shards other than its own, ascending

	ResourceReads  store.Set // resources read
	ResourceWrites store.Set // resources written, by a global system
	ResourceParts  store.Set // accumulators added to

	// Exclusive says that a global system asked for something in the shards: no shard may run
	// while it does.
	Exclusive bool
	// Delta is the simulated time from one run of the system to the next, in seconds: that of a
	// tick, unless the scheduler sets it.
	Delta float64
	// Every is the number of ticks from one run of the system to the next, if the scheduler sets
	// it; 0 stands for 1.
	Every uint64
}

// Same reports whether a and b asked for the same, for the scheduler, which compares the shards of
// a system. Their Neighbours may differ, as they do from shard to shard.
func (a *Access) Same(b *Access) bool {
	return a.Reads == b.Reads && a.Writes == b.Writes && a.Foreign == b.Foreign && a.Neighbour == b.Neighbour &&
		a.ResourceReads == b.ResourceReads && a.ResourceWrites == b.ResourceWrites && a.ResourceParts == b.ResourceParts
}
