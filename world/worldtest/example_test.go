package worldtest_test

import (
	"fmt"
	"testing"

	"github.com/atoll-sim/atoll/world"
	"github.com/atoll-sim/atoll/world/worldtest"
)

// A test of one system: poison takes a point of health each tick, and destroys
// who has none left.
func ExampleRun() {
	type Health struct{ Points int }
	type Poisoned struct{}
	type victim struct {
		Health
		Poisoned
	}

	poison := func(b *world.Build) func(*world.Context) { // the system
		health := world.Write[Health](b)
		all := b.Query(health, world.With[Poisoned](b))
		return func(c *world.Context) {
			for ch := range all.Chunks() {
				points := health.Slice(ch)
				for i := range points {
					if points[i].Points--; points[i].Points == 0 {
						_ = c.Destroy(ch.Handle(i))
					}
				}
			}
		}
	}

	t := new(testing.T) // in a test, its own

	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	world.Register[Poisoned](w, "poisoned")
	weak, _ := world.NewBundle[victim](w).Create(w, victim{Health: Health{2}})
	strong, _ := world.NewBundle[victim](w).Create(w, victim{Health: Health{10}})

	worldtest.Run(t, w, 3, poison)

	fmt.Println(w.Status(weak), w.Status(strong), world.Read[Health](w).Get(strong).Points)
	// Output: stale alive 7
}
