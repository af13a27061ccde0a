// Package scheduler runs systems over the shards of a world, tick by tick.
//
// Each shard is a small program: the list of systems in the order in which they
// were added. Workers take runnable shards and run them forward. The only waits
// are fences: a system that reads other shards' components waits until every
// shard has passed the last system before it that writes them, and the next
// system that writes them waits for the readers. Without foreign reads a shard
// never waits. The refresh ends the tick.
package scheduler
