// Package worldtest runs one system at a time, for the unit tests of whoever
// writes systems: make a world, put in what the system is to find, run it for
// some ticks, and look at the world.
package worldtest
