package refused

import "github.com/atoll-sim/atoll/world"

type Position struct{ X float64 }

// Access is asked for in the constructor, not while the system runs.
func system(b *world.Build) func(*world.Context) {
	return func(c *world.Context) {
		world.Read[Position](c) // refused
	}
}
