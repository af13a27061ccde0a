package refused

import "github.com/atoll-sim/atoll/world"

type (
	Position struct{ X float64 }
	own      struct{ *world.Context }
)

// Accessors are given by a World or a Build alone.
func read(c *world.Context) *world.Reader[Position] {
	return world.Read[Position](own{c}) // refused
}
