// Package region partitions a world by space: each shard holds what is in one
// region of a grid. Then what is near is mostly in the same shard, and a system
// that looks around needs no foreign reads, or those of neighbours alone.
//
// A Grid knows which region a position is in. Its Shard is for Bundle.PlaceBy, so
// that entities are created where they belong; its System moves those that have
// crossed a border, by request, so they are in their new shard from the next tick
// on, with their handle as it was.
//
// Do not let a scheduler.Balancer work against it: that moves entities wherever
// there is room.
package region
