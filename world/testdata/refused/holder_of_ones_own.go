package refused

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

type Position struct{ X float64 }

type own struct{}

func (own) Alive(handle.Handle) bool          { return true }
func (own) Status(handle.Handle) world.Status { return world.Alive }

// Who may act on a world is for the world to say.
func set(h handle.Handle, position *world.Component[Position]) error {
	return position.Set(own{}, h, Position{}) // refused
}
