package world

import (
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/publish"
)

// clock counts the refreshes of a world.
//
// Ownership: the coordinator writes; anyone reads at any time.
type clock struct{ n uint64 }

// Load returns the number of refreshes so far.
func (c *clock) Load() uint64 { return atomic.LoadUint64(&c.n) }

// next begins the next tick and returns its number.
func (c *clock) next() uint64 {
	n := c.n + 1
	publish.Store64(&c.n, n)
	return n
}
