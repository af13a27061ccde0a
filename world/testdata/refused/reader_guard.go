package refused

import "github.com/atoll-sim/atoll/world"

type Position struct{ X float64 }

// What finds misuse in the check build cannot be taken away.
func unguard(pos *world.Reader[Position]) {
	_ = pos.Guard // refused
}
