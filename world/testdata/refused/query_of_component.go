package refused

import "github.com/atoll-sim/atoll/world"

type Position struct{ X float64 }

// A query is of accessors and filters, which say what of a component is wanted.
func query(w *world.World, position *world.Component[Position]) *world.Query {
	return w.Query(position) // refused
}
