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
//	 └ Column (column.go) one component: the typed rows of every chunk; strip.go has the memory
//
// The other files follow the life of a row:
//
//	create.go     it is taken and filled
//	apply.go      requests change it, alone or with the rows beside it; kinds.go has their kinds
//	change.go     it gets other components, and so goes to another table; edge.go says how
//	flag_rows.go  it gets flags, and queries filter by these
//	compact.go    it is marked, and removed; shrink.go gives back chunks
//	migrate.go    it goes to another shard
//	notify.go     hooks are told what has happened to it
//	frame.go      goroutines read a copy of it; package copies makes that
//	image.go      it is saved, loaded and hashed
//	raw.go        what runs for every row, with unsafe
package store
