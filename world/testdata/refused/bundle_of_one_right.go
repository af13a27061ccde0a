package refused

import "github.com/atoll-sim/atoll/world"

type (
	Position struct{ X float64 }
	Velocity struct{ X float64 }
	Ship     struct {
		Position Position
		Velocity Velocity
	}
)

// That one of the components fits is not enough: all must.
func create(w *world.World, ship *world.Bundle[Ship]) {
	_, _ = ship.Create(w, Ship{Position: Position{}, Velocity: Position{}}) // refused
}
