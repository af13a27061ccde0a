package refused

import (
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/world"
)

type Position struct{ X float64 }

// Nor by location.
func write(pos *world.Reader[Position], l store.Loc) {
	pos.AtWrite(l).X = 1 // refused
}
