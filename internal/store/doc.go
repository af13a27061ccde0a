// Package store is the storage below a world: the tables that hold the atoms, the work of one shard
// in each step of a refresh, and the compaction that fills the holes of the dead. Slots are in
// package slots, requests in package queue.
//
// Programs call package world, which drives this one. Package shard names the few parts of it
// that a program sees. The files follow the memory layout:
//
//	Space  (space.go)   one per world: the directory of slots, chunks by number
//	Shard  (shard.go)   owned by one goroutine at a time
//	 ├ Table (table.go) one component set: list of chunks
//	 │  └ Chunk (chunk.go) 16 to 4096 rows: handles, marks
//	 └ Column (column.go) one component: the typed rows of every chunk
package store
