package world

import "sync/atomic"

// tickCount counts the refreshes of a world.
//
// Ownership: the coordinator writes; any goroutine reads at any time.
type tickCount struct{ n atomic.Uint64 }

// Load returns the number of refreshes so far.
func (c *tickCount) Load() uint64 { return c.n.Load() }

// set makes the number of refreshes n, for a frame or a world that is loaded.
func (c *tickCount) set(n uint64) { c.n.Store(n) }

// next begins the next tick and returns its number.
func (c *tickCount) next() uint64 { return c.n.Add(1) }
