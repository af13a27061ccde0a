package refused

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

type (
	Position struct{ X float64 }
	Velocity struct{ X float64 }
)

// An entity is not given a Velocity as its Position.
func add(p *world.Port, h handle.Handle, position *world.Component[Position]) error {
	return position.Add(p, h, Velocity{}) // refused
}
