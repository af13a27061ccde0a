package refused

import "github.com/atoll-sim/atoll/world"

type (
	Position struct{ X float64 }
	Velocity struct{ X float64 }
)

// A Position column is not a slice of Velocity.
func slice(pos *world.Reader[Position], ch world.Chunk) []Velocity {
	return pos.Slice(ch) // refused
}
