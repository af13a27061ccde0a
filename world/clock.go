package world

import "sync/atomic"

// clock counts the refreshes of a world.
//
// Ownership: the coordinator writes; any goroutine reads at any time.
type clock struct{ n atomic.Uint64 }

// Load returns the number of refreshes so far.
func (c *clock) Load() uint64 { return c.n.Load() }

// set makes the number of refreshes n, for a frame.
func (c *clock) set(n uint64) { c.n.Store(n) }

// next begins the next tick and returns its number.
func (c *clock) next() uint64 { return c.n.Add(1) }

// load sets the number of refreshes, in a new world.
func (c *clock) load(n uint64) { c.n.Store(n) }
