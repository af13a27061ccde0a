package refused

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

type Position struct{ X float64 }

// At takes what Locate found, not a handle.
func at(pos *world.Reader[Position], h handle.Handle) *Position {
	return pos.At(h) // refused
}
