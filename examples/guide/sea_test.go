// The code of docs/guide: each snippet of it stands here, in a row, and each
// output is that of one of these examples.
package guide_test

import (
	"github.com/atoll-sim/atoll/world"
)

type (
	Position struct{ X, Y float64 }
	Velocity struct{ X, Y float64 }
	Hull     struct{ Points int }
	Anchored struct{} // no bytes at all: a tag

	Ship struct {
		Position
		Velocity
		Hull
	}
)

// newSea is the world that the guide's first section makes.
func newSea() (w *world.World, ships *world.Bundle[Ship]) {
	w = world.MustNew(world.Options{})
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	world.Register[Hull](w, "hull")
	return w, world.NewBundle[Ship](w)
}
