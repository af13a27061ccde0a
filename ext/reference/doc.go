// Package reference has variables that refer to entities for longer than a tick: a
// Weak one, which finds out that its entity is gone, and an Owner, which shares an
// entity with other owners and destroys it with the last of them.
//
// A handle is all that a system needs. References serve the code around: a session
// that holds its player, a cache, a script. They outlive the world, too: when it is
// closed or collected they are empty, and they never keep it in memory.
package reference
