package refused

import "github.com/atoll-sim/atoll/world"

type Position struct{ X float64 }

// The storage behind an accessor is nobody's to take.
func take(pos *world.Writer[Position]) any {
	return &pos.View // refused
}
