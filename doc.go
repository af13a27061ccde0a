// Package atoll is the overview of Atoll, an engine for game and simulation
// servers that hold many entities, tick many times a second, and take commands
// from many goroutines meanwhile. The world is partitioned into shards. While
// systems run, nothing moves, so nothing needs a lock; at the refresh that ends
// the tick, everything that must move does so at once, in parallel, in a fixed
// order. The code is in the packages below this one: handle names an entity,
// shard stores atoms, world is what a program calls, and scheduler runs ticks.
package atoll
