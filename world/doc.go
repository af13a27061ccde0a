// Package world holds entities, partitioned into shards, and is what a user of
// Atoll works with.
//
// A world is made with New. Component types are registered with Register,
// entities created from a Bundle, and components reached through accessors
// (Read, Write, ReadForeign) and a Query. The type that a goroutine holds says
// what it may do:
//
//	*World    no tick is running, one goroutine   everything, at once
//	*Context  in a system, on its shard           its shard at once, the rest by request
//	*Port     any goroutine, any time             check at once, the rest by request
//
// Alive may be asked of each, costs three atomic loads and never waits. Requests are
// applied by the Refresh that ends a tick, in a fixed order, and end with an
// Outcome that a Completion tells.
//
// Systems are run by package scheduler.
package world
