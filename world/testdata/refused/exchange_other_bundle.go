package refused

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

type (
	Position struct{ X float64 }
	Ship     struct{ Position }
	Rock     struct{ Position }
)

// A ship's components are not given as those of a rock.
func exchange(w *world.World, h handle.Handle, ship *world.Bundle[Ship]) error {
	return ship.Add(w, h, Rock{}) // refused
}
