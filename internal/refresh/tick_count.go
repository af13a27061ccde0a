package refresh

import "sync/atomic"

// TickCount counts the refreshes of a world.
//
// Ownership: the coordinator writes; any goroutine reads at any time.
type TickCount struct{ n atomic.Uint64 }

// Load returns the number of refreshes so far.
func (c *TickCount) Load() uint64 { return c.n.Load() }

// Set makes the number of refreshes n, for a frame or a world that is loaded.
func (c *TickCount) Set(n uint64) { c.n.Store(n) }

// next begins the next tick and returns its number. The coordinator calls it, near the end of a
// refresh.
func (c *TickCount) next() uint64 { return c.n.Add(1) }
