package atoll_test

import (
	"context"
	"fmt"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

type (
	Position struct{ X, Y float64 }
	Velocity struct{ X, Y float64 }
	Ship     struct {
		Position
		Velocity
	}
)

func Move(b *world.Build) func(*world.Context) {
	pos, vel := world.Write[Position](b), world.Read[Velocity](b)
	moving := b.Query(pos, vel)
	return func(c *world.Context) {
		for ch := range moving.Chunks() {
			p, v := pos.Slice(ch), vel.Slice(ch)
			for i := range p {
				p[i].X += v[i].X * c.Delta()
				p[i].Y += v[i].Y * c.Delta()
			}
		}
	}
}

// A system that moves ships, and a port that creates one.
func Example() {
	w := world.MustNew(world.Options{})
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	ship := world.NewBundle[Ship](w)

	s := scheduler.New(w, scheduler.Options{})
	s.MustAdd("move", Move)

	port, _ := w.OpenPort() // any goroutine, at any time
	h, _ := ship.Create(port, Ship{Position{0, 0}, Velocity{1, 2}})
	fmt.Println(h, port.Status(h))

	_ = s.Step(context.Background()) // creates it
	_ = s.Step(context.Background()) // moves it
	fmt.Println(h, port.Status(h), *world.Read[Position](w).Get(h))
	// Output:
	// 4:0@1 pending
	// 4:0@1 alive {0.05 0.1}
}
