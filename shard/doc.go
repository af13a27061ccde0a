// Package shard is a shard's storage as a program sees it.
//
// A world is divided into shards. Entities with the same components are rows of one table of
// their shard; a table is a list of chunks, and a chunk has an array for each component. Loops
// over a world.Query yield a Chunk at a time; a Loc says where the row of one entity is.
//
//	shard ─▶ table (one set of components) ─▶ chunk (16 to RowsMax rows) ─▶ row (one entity)
//
// The storage itself is internal: package world is what changes it.
package shard
