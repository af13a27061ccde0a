package refused

import "github.com/atoll-sim/atoll/world"

type Position struct{ X float64 }

// What is taken away is named by a Component or a Bundle, not by a value.
func remove(q *world.Query) error {
	return q.Remove(Position{}) // refused
}
