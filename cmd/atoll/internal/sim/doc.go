// Package sim is the sim command: the demo's realm without network and clock, fed
// by players that follow a script, to see that the same inputs give the same world.
//
// Between ticks one goroutine plays all players. What each does depends on the
// seed, on its number and on the replies that it got. Every so many ticks the state of
// the world is hashed. The hashes do not depend on the number of workers or
// processors, nor on the order in which chaos runs them.
package sim
