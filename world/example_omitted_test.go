package world_test

import (
	"fmt"

	"github.com/atoll-sim/atoll/world"
)

// A client asks for more calls that fail than a refresh keeps the details of.
func ExampleOmittedError() {
	w := world.MustNew(world.Options{Shards: 1})
	world.Register[Health](w, "health")
	unit, _ := world.NewBundle[Unit](w).Create(w, Unit{})
	fail := world.RegisterFunc(w, "fail", func(*world.EntityContext, int) { panic("no") })

	port, _ := w.OpenPort()
	for i := range world.FailuresMax + 10 {
		_ = fail.Call(port, unit, i)
	}
	tick := w.BeginTick()
	tick.End(serial)
	fmt.Println(len(tick.Failures()) == world.FailuresMax, tick.Omitted())
	// Output:
	// true world: 10 more functions panicked at the end of tick 0; details are kept of FailuresMax = 64
}
