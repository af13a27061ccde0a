package world_test

import (
	"fmt"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// A scheduler ends a tick with the decision that 300 entities go to another shard;
// what is pinned stays. Package scheduler has one whose Balancer decides.
func ExampleShift() {
	w := world.MustNew(world.Options{Shards: 2})
	world.Register[Position](w, "position")
	gates := world.Register[Frozen](w, "frozen")
	type Walker struct{ Position }
	type Gate struct {
		Position
		Frozen
	}
	w.Pin(gates)
	first := func(Walker) int { return 0 }
	if err := world.NewBundle[Walker](w).PlaceBy(first).CreateN(w, 800, nil); err != nil {
		panic(err)
	}
	gate, err := world.NewBundle[Gate](w).PlaceBy(func(Gate) int { return 0 }).Create(w, Gate{})
	if err != nil {
		panic(err)
	}

	tick := engine.Of(w).BeginTick()
	// … systems run …
	fmt.Println("before:", tick.Entities(0), tick.Entities(1))
	tick.Shift([]extend.Shift{{From: 0, To: 1, Entities: 300}})
	tick.End(func(n int, f func(int)) {
		for i := range n {
			f(i)
		}
	})

	var stats world.Stats
	w.Stats(&stats)
	fmt.Println("after:", stats.Shards[0].Entities, stats.Shards[1].Entities)
	owner, _ := w.Owner(gate)
	fmt.Println("the gate is in shard", owner)
	// Output:
	// before: 801 0
	// after: 501 300
	// the gate is in shard 0
}
