// Package hierarchy keeps parents and children: bags in backpacks on characters in
// guilds.
//
// A [Relation] is a hierarchy of a world's entities. Parents and children are named
// by handle and may be in any shards; each entity has one parent at the most, and its
// children in order; nothing is the ancestor of itself. A world may have several, each
// with its policies: what becomes of the children when a parent dies
// ([OnParentDeath]), and of the place when a child does ([Gap]).
//
// A [Reader] reads a relation: in systems, of any entity of any shard, because while
// systems run no relation changes; on an idle world; and of a [world.Frame], from any
// goroutine. Changes by systems and ports
// are requests that the refresh applies in order, before deaths spread; by an idle
// world they are done at once.
//
// A [Tree] is what a Relation is made of, for use without a world.
//
//	node     8 bytes an entity, by handle: version, place, list
//	list     24 bytes a parent, and 8 for its handle: bucket, number of children
//	bucket   the children's handles, in a row
//
// Buckets have a few sizes; those that are free are chained through their own memory.
// A million children in families of 4 to 16 take less than 24 bytes each, everything counted.
// (The buckets are the Entitytainer's idea, by Srekel, in C.)
package hierarchy
