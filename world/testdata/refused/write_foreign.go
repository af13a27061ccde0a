package refused

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

type Position struct{ X float64 }

// What is read of another shard is a copy.
func write(foreign *world.ForeignReader[Position], h handle.Handle) {
	p, _ := foreign.Get(h)
	foreign.Get(h).X = p.X // refused
}
