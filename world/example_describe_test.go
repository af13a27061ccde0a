package world_test

import (
	"encoding/json"
	"fmt"

	"github.com/atoll-sim/atoll/world"
)

// What an entity is at the moment: a line for a log, or JSON for a tool.
func ExampleEntityInfo() {
	w := world.MustNew(world.Options{})
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	mover, _ := world.NewBundle[Mover](w).Create(w, Mover{Position{1, 2}, Velocity{3, 4}})

	info := w.DescribeEntity(mover)
	fmt.Println(info)
	text, _ := json.Marshal(info)
	fmt.Println(string(text))
	// Output:
	// 0:0@1 alive on shard 0: position {X:1 Y:2}, velocity {X:3 Y:4}
	// {"handle":"0:0@1","status":"alive","shard":0,"components":{"position":{"X":1,"Y":2},"velocity":{"X":3,"Y":4}}}
}

// A component of an entity, by name and value.
func ExampleComponentInfo() {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	unit, _ := world.NewBundle[Unit](w).Create(w, Unit{Health{7}})
	for _, c := range w.DescribeEntity(unit).Components {
		fmt.Println(c.Name, c.Value)
	}
	// Output: health {7}
}

// A world: what is registered, and what each shard holds.
func ExampleWorldInfo() {
	w := world.MustNew(world.Options{Shards: 2})
	world.Register[Health](w, "health")
	_, _ = world.NewBundle[Unit](w).Create(w, Unit{})
	info := w.Describe()
	fmt.Println(info.Tick, info.Entities, info.Components, len(info.Shards))
	// Output: 0 1 [health] 2
}
