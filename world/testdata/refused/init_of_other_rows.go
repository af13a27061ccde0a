package refused

import "github.com/atoll-sim/atoll/world"

type Position struct{ X float64 }

// An initialiser is handed rows, whose slices the accessors know.
func add(q *world.Query, position *world.Component[Position]) error {
	return position.AddTo(q, func(rows []Position) {}) // refused
}
