package refused

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

type (
	Position struct{ X float64 }
	Velocity struct{ X float64 }
)

// A Position is not set to a Velocity.
func set(w *world.World, h handle.Handle, position *world.Component[Position]) error {
	return position.Set(w, h, Velocity{}) // refused
}
