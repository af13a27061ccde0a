// Package store is the storage under a world: the slots that handles name, the
// tables that hold the atoms, the queues that carry requests from one goroutine
// to another, and the compaction that fills the holes of the dead.
//
// Programs call package world, which drives this one. Package shard names the few parts of it
// that a program sees. The files follow the memory layout:
//
//	Space  (space.go)   one per world: directory of slots (directory.go), chunks
//	 └ Slot (slot.go)   8 bytes: generation, location
//	Allocator (allocator.go)  one per shard: hands out slots; ports have PortAllocator
//	Shard  (shard.go)   owned by one goroutine at a time
//	 ├ Table (table.go) one component set: list of chunks
//	 │  └ Chunk (chunk.go) 16 to 4096 rows: handles, marks
//	 └ Column (column.go) one component: the typed rows of every chunk
//	Queue  (queue.go)   bounded requests of one sender, over Ring (ring.go)
package store
