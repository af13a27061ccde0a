// Package timer sends messages to entities later.
//
// [Timers] are the timers of a world for one message type. [Timers.After], [Timers.At] and
// [Timers.Every] set one, from systems, functions, hooks, ports and the idle world. When it is due,
// the message is delivered to whichever shard has the entity then, as any other message. A timer
// ends with its entity.
//
// Time is ticks, and nothing else: while the program is down or the world is paused, timers wait.
//
//	wheel   one for each shard, and one for global systems: 64 to 16,384 slots, by the tick modulo
//	        their number; a tick looks at one slot
//	slot    the timers in it, due in this round or a later one, in the order in which they were set
//	timer   48 bytes and the message
//
// A timer stays in the wheel of the shard in which it was set, so that a move of its entity costs
// nothing. Timers are state of the world: they count for the hash, and are saved, recorded and
// forked with it. (Hashed wheels are scheme 6 of Varghese and Lauck, Hashed and Hierarchical Timing
// Wheels, 1987.)
package timer
