package refused

import "github.com/atoll-sim/atoll/world"

type Attack struct{ Damage int }

// What a system receives is asked for in its constructor.
func system(c *world.Context) {
	world.Receive[Attack](c) // refused
}
