// Package shard is a shard's storage as a program sees it.
//
// A world is divided into shards. Entities with the same components are rows of one table of
// their shard; a table is a list of chunks, and a chunk has an array for each component. What
// handles name are slots. A slot never moves, so a handle stays right while the row does.
//
//	handle 2:1047@5
//	   │ home 2, index 1047, version 5
//	   ▼
//	home 2    slots     … │ generation 5 │ location 7:13 │ …     8 bytes an entity
//	                                            │ chunk 7, row 13
//	                                            ▼
//	shard 2   table {Position, Velocity}
//	            chunk 7   handles    … │ 2:1047@5 │ …            a row of each array
//	                      Position   … │   x, y   │ …            is one entity
//	                      Velocity   … │   x, y   │ …
//
// To check a handle is to compare its version with the generation of its slot: atomic loads, without
// a lock, from any goroutine. The refresh that removes an entity raises the generation, so every
// handle of it fails from then on. An entity keeps its slot when it moves to another shard; what a
// port creates has its slot in a home that belongs to no shard.
//
// Loops over a world.Query yield a Chunk at a time; a Loc says where the row of one entity is. Package
// world is what changes the storage. Its code is in internal/slots (homes, slots, generation
// counters), internal/store (tables, chunks, and what a shard does in a refresh) and internal/mem.
package shard
