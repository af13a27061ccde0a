package refused

import "github.com/atoll-sim/atoll/world"

// The refresh is for whoever ends the tick.
func system(c *world.Context) {
	c.Refresh() // refused
}
