// Package worldtest runs one system at a time, for unit tests of
// systems: make a world, add what the system is to find, run it for
// some ticks, and look at the world.
package worldtest
