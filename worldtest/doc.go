// Package worldtest has tests for users of the library. Run runs one system at a time, for unit tests
// of systems: make a world, add what the system is to find, run it for some ticks, and look at the
// world. Same runs a whole world several times, and compares: whether it is deterministic, as a
// replay of its log needs it.
package worldtest
