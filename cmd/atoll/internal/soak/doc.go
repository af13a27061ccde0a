// Package soak is the soak command: a world under everything at once, for as long
// as one likes, with books that know what must be true.
//
//	herd      most entities; systems destroy and create them, each shard its own
//	guests    entities of outside clients, which do all that a port can, at full
//	          rate, until their queues are full
//	veterans  entities that nobody destroys; everybody sends them messages
//
// Systems panic and dawdle at random. Everyone keeps a book: a client knows the
// outcome of each of its requests before it is told, because its requests apply
// in the order sent and nobody else touches its guests; where two clients destroy
// the same entity, it knows that exactly one of them is told so. Statuses are
// checked all the time, the herd is sampled after every tick, and now and then the
// clients rest, the queues run empty, and every entity is held against the books.
package soak
