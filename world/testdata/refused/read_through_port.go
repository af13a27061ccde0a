package refused

import "github.com/atoll-sim/atoll/world"

type Position struct{ X float64 }

// A port has no accessors: what is in a shard is read on its shard.
func read(p *world.Port) {
	world.Read[Position](p) // refused
}
