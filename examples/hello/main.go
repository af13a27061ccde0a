// Hello is the program of the README: two components and a bundle, one system that moves ships, and
// a port that creates one.
//
//	go run ./examples/hello
//
// It makes two ticks. The refresh of the first creates the ship, the second moves it:
//
//	4:0@1 pending
//	4:0@1 alive {0.05 0.1}
package main

import (
	"context"
	"fmt"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

type Position struct{ X, Y float64 }
type Velocity struct{ X, Y float64 }
type Ship struct { // a bundle: entities are created with these components
	Position
	Velocity
}

// Move runs once a tick on each shard, on as many cores as there are.
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

func main() {
	w := world.MustNew(world.Options{})
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	ships := world.NewBundle[Ship](w)
	s := scheduler.New(w, scheduler.Options{})
	s.MustAdd("move", Move)

	port, _ := w.OpenPort() // for any one goroutine, at any time, while ticks run too
	ship, _ := ships.Create(port, Ship{Position{0, 0}, Velocity{1, 2}})
	fmt.Println(ship, port.Status(ship))
	_ = s.Step(context.Background()) // its refresh creates the ship
	_ = s.Step(context.Background()) // moves it
	fmt.Println(ship, port.Status(ship), *world.Read[Position](w).Get(ship))
}
