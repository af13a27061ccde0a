package refused

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

type (
	Position struct{ X float64 }
	Velocity struct{ X float64 }
)

// What a Reader of Position finds is no Velocity.
func get(pos *world.Reader[Position], h handle.Handle) *Velocity {
	return pos.Get(h) // refused
}
