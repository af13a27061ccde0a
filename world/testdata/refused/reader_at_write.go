package refused

import (
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/world"
)

type Position struct{ X float64 }

// Nor by location.
func write(pos *world.Reader[Position], l slots.Loc) {
	pos.AtWrite(l).X = 1 // refused
}
