package refused

import "github.com/atoll-sim/atoll/world"

type Position struct{ X float64 }

// An idle world reads every shard as it is: only a system has foreign ones.
func read(w *world.World) *world.ForeignReader[Position] {
	return world.ReadForeign[Position](w) // refused
}
