package refused

import "github.com/atoll-sim/atoll/world"

type (
	Position struct{ X float64 }
	Velocity struct{ X float64 }
	Ship     struct{ Position Position }
)

// The fields of a bundle have their types.
func create(w *world.World, ship *world.Bundle[Ship]) {
	_, _ = ship.Create(w, Ship{Position: Velocity{}}) // refused
}
