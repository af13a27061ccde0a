package refused

import "github.com/atoll-sim/atoll/world"

// A system has a Context, which cannot clear the world.
func system(c *world.Context) {
	c.Clear() // refused
}
