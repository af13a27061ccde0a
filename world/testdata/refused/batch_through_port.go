package refused

import "github.com/atoll-sim/atoll/world"

type (
	Position struct{ X float64 }
	Ship     struct{ Position }
)

// Rows are filled in where they are: by the World, not by a port.
func create(p *world.Port, ship *world.Bundle[Ship]) error {
	return ship.CreateRows(p, 10, nil) // refused
}
