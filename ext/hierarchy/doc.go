// Package hierarchy keeps parents and children: bags in backpacks on characters in
// guilds.
//
// A [Relation] is a hierarchy of a world's entities. Parents and children are named
// by handle and may be in any shards. An entity has at most one parent, and its
// children are in order. No entity is its own ancestor. A world may have several relations, each
// with its policies: what becomes of the children when a parent dies
// ([OnParentDeath]), and of the place when a child dies ([Gap]).
//
// A [Reader] reads a relation: in systems, of any entity of any shard, because while
// systems run no relation changes; in an idle world; and of a [world.Frame], from any
// goroutine. Systems and ports change a relation
// by requests, which the refresh applies in order, before deaths spread. An idle
// world changes it at once.
//
// A Relation takes little memory, which [Memory] shape:
//
//	node     8 bytes an entity, by handle: version, place, list
//	list     24 bytes a parent, and 8 for its handle: bucket, number of children
//	bucket   the children's handles, in a row
//
// Buckets have a few sizes; free ones are chained through their own memory.
// A million children in families of 4 to 16 take less than 24 bytes each, everything counted.
// (Buckets are an idea of the Entitytainer, by Srekel, in C.)
package hierarchy
