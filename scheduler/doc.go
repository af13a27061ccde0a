// Package scheduler runs systems over the shards of a world, tick by tick.
//
// Each shard is a small program: the list of systems in order. Workers take
// runnable shards and run them forward. The only waits are fences: a system that
// reads other shards' components waits until every shard, or every declared
// neighbour, has passed the last system before it that writes them, and the next
// system that writes them waits for the readers. Without foreign reads a shard
// never waits. The refresh ends the tick.
//
// The world depends neither on the number of workers nor on which worker runs which shard:
// the order of the systems on a shard is fixed, and fences order systems on different shards
// that use the same data.
package scheduler
