package refused

import "github.com/atoll-sim/atoll/world"

type own struct{}

func (own) add(*world.Query) {}

// What a query may ask is for the world to say.
func query(w *world.World) *world.Query {
	return w.Query(own{}) // refused
}
