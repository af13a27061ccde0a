package refused

import "github.com/atoll-sim/atoll/world"

type (
	Position struct{ X float64 }
	Velocity struct{ X float64 }
)

// A row of Position does not take a Velocity.
func write(pos *world.Writer[Position], ch world.Chunk) {
	pos.Slice(ch)[0] = Velocity{} // refused
}
