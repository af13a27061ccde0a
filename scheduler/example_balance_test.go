package scheduler_test

import (
	"context"
	"fmt"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// All fish are created on the first shard; in each tick some are moved, until every
// shard has as many.
func ExampleLevel() {
	type Size struct{ Length float32 }
	type Fish struct{ Size }
	w := world.MustNew(world.Options{Shards: 4})
	world.Register[Size](w, "size")
	fish := world.NewBundle[Fish](w).PlaceBy(func(Fish) int { return 0 })
	if err := fish.CreateN(w, 8000, nil); err != nil {
		panic(err)
	}
	s := scheduler.New(w, scheduler.Options{Balancer: scheduler.Level(scheduler.LevelOptions{Limit: 2500})})
	var stats world.Stats
	for range 4 {
		if err := s.Step(context.Background()); err != nil {
			panic(err)
		}
		w.Stats(&stats)
		for _, shard := range stats.Shards {
			fmt.Print(shard.Entities, " ")
		}
		fmt.Println(s.Shifts())
	}
	// Output:
	// 5500 2000 500 0 [{0 1 2000} {0 2 500}]
	// 3000 2000 1000 2000 [{0 3 2000} {0 2 500}]
	// 2000 2000 2000 2000 [{0 2 1000}]
	// 2000 2000 2000 2000 []
}
