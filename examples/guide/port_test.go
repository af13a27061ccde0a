package guide_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// serve is what a connection's goroutine does, while the world ticks.
func serve(ctx context.Context, port *world.Port, ships *world.Bundle[Ship], hull *world.Component[Hull]) {
	h, err := ships.Create(port, Ship{Hull: Hull{100}})
	if errors.Is(err, world.ErrFull) {
		return // too many requests under way: wait, or drop the client
	}
	_ = hull.Set(port, h, Hull{90}) // behind the create, in the same order

	var sunk, again world.Completion
	_ = port.Notify(&sunk).Destroy(h)
	_ = port.Notify(&again).Destroy(h)
	first, _ := sunk.Wait(ctx)
	second, _ := again.Wait(ctx)
	fmt.Println(first, second, port.Status(h))
}

func Example_port() {
	w := world.MustNew(world.Options{})
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	hull := world.Register[Hull](w, "hull")
	ships := world.NewBundle[Ship](w)
	ctx := context.Background()

	s := scheduler.New(w, scheduler.Options{})
	s.MustAdd("sail", Sail)
	go func() {
		port, _ := w.OpenPort() // at any time, also while a tick runs
		defer port.Close()
		serve(ctx, port, ships, hull)
		s.Stop()
	}()
	_ = s.Run(ctx) // 20 ticks a second, until somebody calls Stop
	fmt.Println(w.Count())
	// Output:
	// applied gone stale
	// 0
}

func Example_question() {
	w := world.MustNew(world.Options{})
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	hull := world.Register[Hull](w, "hull")
	ships := world.NewBundle[Ship](w)
	port, _ := w.OpenPort()
	ship, _ := ships.Create(w, Ship{Hull: Hull{100}})

	repair := world.RegisterQuestion(w, "repair", func(self *world.EntityContext, planks int) (left int) {
		h := hull.Write(self)
		used := min(planks, 100-h.Points)
		h.Points += used
		return planks - used
	})

	var left world.Answer[int]
	var now world.Answer[Hull]
	_ = hull.Set(port, ship, Hull{97})
	_ = repair.Ask(port, ship, 10, &left)
	_ = hull.Ask(port, ship, &now)
	w.Refresh()
	fmt.Println(left.Value())
	fmt.Println(now.Value())
	// Output:
	// 7 true
	// {100} true
}

// Escort names the ship that its ship sails with.
type Escort struct{ Ship handle.Handle }

// Sailor is what an escorted ship is created from.
type Sailor struct {
	Hull
	Escort
}

func Example_batch() {
	w := world.MustNew(world.Options{})
	world.Register[Hull](w, "hull")
	escort := world.Register[Escort](w, "escort")
	sailors := world.NewBundle[Sailor](w)
	port, _ := w.OpenPort()

	var trader, guard handle.Handle
	err := port.Batch(func() error {
		trader, _ = sailors.Create(port, Sailor{})
		guard, _ = sailors.Create(port, Sailor{Escort: Escort{trader}})
		return escort.Set(port, trader, Escort{guard})
	})
	w.Refresh()
	of := world.Read[Escort](w)
	fmt.Println(err, of.Get(trader).Ship == guard, of.Get(guard).Ship == trader)
	// Output:
	// <nil> true true
}

func Example_many() {
	w := world.MustNew(world.Options{})
	world.Register[Hull](w, "hull")
	world.Register[Escort](w, "escort")
	sailors := world.NewBundle[Sailor](w)
	port, _ := w.OpenPort()

	crew, err := sailors.AppendN(nil, port, 300, nil)
	fmt.Println(len(crew), err)
	var gone world.Completion
	err = port.Notify(&gone).DestroyN(crew[:100])
	w.Refresh()
	fmt.Println(gone.Outcome(), err, port.Alive(crew[0]), port.Alive(crew[299]))
	// Output:
	// 300 <nil>
	// applied <nil> false true
}

// part returns the shard that has the part of the sea at x. Parts are 100 wide. The first shard also
// has what lies west of them all, and an x that is not a number; the last one what lies east.
func part(x float64, shards int) int {
	if !(x >= 0) {
		return 0
	}
	return int(min(x/100, float64(shards-1)))
}

// Border hands ships that have left their part of the sea to the shard of the part
// that they are in.
func Border(b *world.Build) func(*world.Context) {
	pos := world.Read[Position](b)
	fleet := b.Query(pos)
	return func(c *world.Context) {
		for ch := range fleet.Chunks() {
			for i, p := range pos.Slice(ch) {
				if to := part(p.X, c.Shards()); to != c.Shard() {
					_ = world.Move(c, ch.Handle(i), to)
				}
			}
		}
	}
}

func Example_move() {
	w, ships := newSea()
	ships.PlaceBy(func(s Ship) int { return part(s.Position.X, w.Shards()) })
	h, _ := ships.Create(w, Ship{Position: Position{99.8, 0}, Velocity: Velocity{10, 0}})

	s := scheduler.New(w, scheduler.Options{})
	s.MustAdd("sail", Sail)
	s.MustAdd("border", Border)
	shard, _ := w.Owner(h)
	fmt.Println(h, "in shard", shard)
	_ = s.Step(context.Background())
	shard, _ = w.Owner(h)
	fmt.Println(h, "in shard", shard, *world.Read[Position](w).Get(h))
	// Output:
	// 0:0@1 in shard 0
	// 0:0@1 in shard 1 {100.3 0}
}
