package region_test

import (
	"context"
	"fmt"

	"github.com/atoll-sim/atoll/ext/region"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// A ship sails from one region to the next; its handle stays what it was.
func Example() {
	type Place struct{ X, Y float64 }
	type Ship struct{ Place }
	w := world.MustNew(world.Options{Shards: 4})
	world.Register[Place](w, "place")
	grid, err := region.New(w, func(p Place) (x, y float64) { return p.X, p.Y }, region.Options{Width: 200, Height: 200})
	if err != nil {
		panic(err)
	}
	ships := world.NewBundle[Ship](w).PlaceBy(func(s Ship) int { return grid.Shard(s.Place) })

	s := scheduler.New(w, scheduler.Options{})
	s.MustAdd("sail", func(b *world.Build) func(*world.Context) {
		place := world.Write[Place](b)
		sailing := b.Query(place)
		return func(*world.Context) {
			for ch := range sailing.Chunks() {
				p := place.Slice(ch)
				for i := range p {
					p[i].X += 10
				}
			}
		}
	})
	s.MustAdd("cross", grid.System, scheduler.In(scheduler.PostUpdate))

	ship, err := ships.Create(w, Ship{Place{X: 75, Y: 150}})
	if err != nil {
		panic(err)
	}
	for range 5 {
		owner, _ := w.Owner(ship)
		fmt.Println("at", world.Read[Place](w).Get(ship).X, "in shard", owner)
		if err := s.Step(context.Background()); err != nil {
			panic(err)
		}
	}
	// Output:
	// at 75 in shard 2
	// at 85 in shard 2
	// at 95 in shard 2
	// at 105 in shard 2
	// at 115 in shard 3
}
