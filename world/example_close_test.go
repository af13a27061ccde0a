package world_test

import (
	"fmt"

	"github.com/atoll-sim/atoll/world"
)

// A server ends a match: who still waits for something hears that it is over.
func ExampleWorld_Close() {
	match := world.MustNew(world.Options{})
	world.Register[Health](match, "health")
	units := world.NewBundle[Unit](match)
	unit, _ := units.Create(match, Unit{Health{100}})

	player, _ := match.OpenPort()
	var done world.Completion
	_ = player.Notify(&done).Destroy(unit)

	match.Close()
	fmt.Println("closed:", match.Err() != nil)
	fmt.Println("request:", done.Outcome())
	fmt.Println("unit:", player.Status(unit))
	fmt.Println("next request:", player.Destroy(unit))
	// Output:
	// closed: true
	// request: closed
	// unit: stale
	// next request: world: the port, or its world, is closed
}
