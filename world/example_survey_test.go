package world_test

import (
	"fmt"

	"github.com/atoll-sim/atoll/world"
)

// A tool that knows nothing of a world's types finds all there is in it.
func ExampleSurvey() {
	w := world.MustNew(world.Options{Shards: 2})
	world.Register[Health](w, "health")
	world.RegisterMessage[Hit](w, "hit")
	world.RegisterResource(w, "weather", weather{})
	units := world.NewBundle[Unit](w)
	unit, _ := units.Create(w, Unit{})
	_ = world.RegisterMessage[Greet](w, "greet").Send(w, unit, Greet{"hello"})
	w.Extend(new(squads))

	s := w.Survey()
	for kind, all := range [][]world.Named{s.Components(), s.Messages(), s.Resources()} {
		for _, x := range all {
			fmt.Println(kind, x.Name, x.Type)
		}
	}
	for i := range w.Shards() {
		to, _ := s.Mailbox(1, i)
		fmt.Println("shard", i, "holds", s.Shard(i).Alive(), "in", len(s.Shard(i).Tables()), "tables, with mail for", to)
	}
	next, run := s.Placement()
	fmt.Println("the next", run, "go to shard", next, s.Misrouted(), s.PortSlots().Retired(), len(s.Extensions()))
	// Output:
	// 0 health world_test.Health
	// 1 hit world_test.Hit
	// 1 greet world_test.Greet
	// 2 weather world_test.weather
	// shard 0 holds 1 in 1 tables, with mail for [0:0@1]
	// shard 1 holds 0 in 1 tables, with mail for []
	// the next 63 go to shard 0 false 0 1
}

// A name and the type that is registered under it.
func ExampleNamed() {
	w := world.MustNew(world.Options{})
	world.Register[Position](w, "position")
	world.RegisterResource(w, "weather", weather{})
	s := w.Survey()
	fmt.Println(s.Components(), s.Resources()[0].Type.Size())
	value, _ := s.Resource(0)
	fmt.Println(value.Len)
	// Output:
	// [{position world_test.Position}] 8
	// 1
}
