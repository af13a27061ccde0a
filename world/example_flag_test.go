package world_test

import (
	"fmt"

	"github.com/atoll-sim/atoll/world"
)

// A connection sees from a handle alone whether its unit burns; a system looks for those
// that do.
func ExampleFlag() {
	const burning world.Flags = 1 << 0
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w)
	unit, _ := units.Create(w, Unit{Health{100}})
	_, _ = units.Create(w, Unit{Health{100}})

	port, _ := w.OpenPort()
	_ = world.Flag(port, unit, burning)
	fmt.Println("requested:", port.Flags(unit)&burning != 0)
	w.Refresh()
	fmt.Println("refreshed:", port.Flags(unit)&burning != 0)
	fmt.Println("burning:", w.Query(world.WithFlags(w, burning)).Count())
	// Output:
	// requested: false
	// refreshed: true
	// burning: 1
}
