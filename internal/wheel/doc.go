// Package wheel holds what is due at a tick, for packages that keep such things about entities:
// timers, and questions that time out.
//
//	Wheel   64 to 16,384 slots, by the tick modulo their number; a tick looks at one slot
//	slot    the entries in it, due in this round or a later one, in the order in which they were set
//	Entry   48 bytes, found by its ID
//	Of      a Wheel with a body for each entry, by its index
//	Saved   the wheels of an extension as state of the world
//
// It is scheme 6 of Varghese and Lauck, Hashed and Hierarchical Timing Wheels, 1987.
package wheel
