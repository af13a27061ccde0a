package refused

import "github.com/atoll-sim/atoll/world"

type (
	Position struct{ X float64 }
	Ship     struct{ Position }
	Rock     struct{ Position }
)

// A bundle of ships makes no rocks.
func create(w *world.World, ship *world.Bundle[Ship]) {
	_, _ = ship.Create(w, Rock{}) // refused
}
