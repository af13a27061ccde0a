// Package world holds entities, partitioned into shards, and is what a user of
// Atoll works with.
//
// A world is made with New. Component types are registered with Register, entities are created
// from a Bundle, and components are reached through accessors (Read, Write, ReadForeign) and a
// Query. The type that a goroutine holds determines what it may do:
//
//	*World    no tick is running, one goroutine   everything, at once
//	*Context  in a system, on its shard           its shard at once, the rest by request
//	*Port     any goroutine, any time             check at once, the rest by request
//
// Each of them has Alive, which costs three atomic loads and never waits. Requests are applied
// by the Refresh that ends a tick, in a fixed order. Each ends with an Outcome, which a
// Completion returns.
//
// Package scheduler runs systems.
package world
