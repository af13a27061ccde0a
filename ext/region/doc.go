// Package region partitions a world by space: each shard holds what is in one region of a grid.
// Then entities near each other are mostly in the same shard, where a query of a system finds them.
//
// A system cannot iterate over the rows of another shard, not even of a neighbour. It can read an
// entity there by its handle, with world.ForeignReader.Get. Pass AppendNeighbours to
// world.ReadForeign, so that nothing waits for shards that are further away. To find what is near
// across a border, use package near, whose Index has the entities of all shards.
//
// A Grid knows which region a position is in. Its Shard is for Bundle.PlaceBy, so
// that entities are created where they belong; its System moves those that have
// crossed a border, by request, so they are in their new shard from the next tick
// on, with their handle as it was. It moves no children: see world.Move.
//
// Do not use a scheduler.Balancer with it: that moves entities wherever
// there is room.
package region
