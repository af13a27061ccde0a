// Package soak is the soak command: it runs all features of a world at once, for any
// time, and keeps books of what must be true.
//
//	herd      most entities; systems destroy and create them, each shard its own
//	guests    entities of outside clients, which do all that a port can, at full
//	          rate, until their queues are full
//	veterans  entities that are never destroyed; all clients and systems send them messages
//
// Systems panic and pause at random. All clients and systems keep a book. A client knows the
// outcome of each of its requests before it gets it, because its requests apply
// in the order sent and nothing else touches its guests. If two clients destroy
// the same entity, exactly one of them must get that outcome. Statuses are
// checked all the time, and the herd is sampled after every tick. Regularly the
// clients rest, the queues run empty, and every entity is compared with the books.
package soak
