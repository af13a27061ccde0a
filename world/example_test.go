package world_test

import (
	"context"
	"fmt"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Register the components, make entities of a bundle of them, and keep their
// handles: these answer for the entity for as long as it lives, and never for
// another.
func ExampleWorld() {
	w, err := world.New(world.Options{Shards: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	position := world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	movers := world.NewBundle[Mover](w)

	first, _ := movers.Create(w, Mover{Position: Position{X: 1}})
	_ = position.Set(w, first, Position{X: 2})
	fmt.Println(first, w.Alive(first), *world.Read[Position](w).Get(first))

	w.Destroy(first)
	w.Refresh()
	second, _ := movers.Create(w, Mover{})
	fmt.Println(first, w.Status(first))
	fmt.Println(second, w.Status(second))
	fmt.Println(position.Set(w, first, Position{X: 3}))
	// Output:
	// 0:0@1 true {2 0}
	// 0:0@1 stale
	// 0:0@2 alive
	// world: entity is not alive
}

// A world of strings: what is destroyed is there until the refresh, and its
// handle is stale from then on.
func ExampleWorld_Refresh() {
	type Text struct{ S string }
	type Line struct{ Text }

	w := world.MustNew(world.Options{})
	world.Register[Text](w, "text")
	lines := world.NewBundle[Line](w)
	text := world.Write[Text](w)

	hi, _ := lines.Create(w, Line{Text{"hi"}})
	bye, _ := lines.Create(w, Line{Text{"bye"}})

	text.Get(hi).S += " sir"
	w.Destroy(bye)
	fmt.Println("before the refresh:", w.Count(), w.Status(bye), text.Get(bye).S)

	w.Refresh()
	fmt.Println("after the refresh:", w.Count(), w.Status(bye), text.Get(bye))
	fmt.Println(text.Get(hi).S)
	// Output:
	// before the refresh: 2 dying bye
	// after the refresh: 1 stale <nil>
	// hi sir
}

// A query walks the atoms that have the components, one chunk at a time.
func ExampleWorld_Query() {
	w := world.MustNew(world.Options{Shards: 2})
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	movers := world.NewBundle[Mover](w)
	_ = movers.CreateN(w, 1000, func(i int, m *Mover) {
		m.Position.X, m.Velocity.X = float64(i), 1
	})

	pos, vel := world.Write[Position](w), world.Read[Velocity](w)
	sum := 0.0
	for ch := range w.Query(pos, vel).Chunks() {
		p, v := pos.Slice(ch), vel.Slice(ch)
		for i := range p {
			p[i].X += v[i].X
			sum += p[i].X
		}
	}
	fmt.Println(sum)
	// Output: 500500
}

// A bundle is a plain struct of components: it creates entities that have them,
// by a World at once, by a Port as a request.
func ExampleBundle_Create() {
	w := world.MustNew(world.Options{})
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	movers := world.NewBundle[Mover](w)

	now, _ := movers.Create(w, Mover{Position{1, 2}, Velocity{3, 4}})

	port, _ := w.OpenPort()
	defer port.Close()
	later, _ := movers.Create(port, Mover{Position: Position{5, 6}})
	fmt.Println(w.Status(now), w.Status(later))

	w.Refresh()
	pos := world.Read[Position](w)
	fmt.Println(*pos.Get(now), *pos.Get(later))
	// Output:
	// alive pending
	// {1 2} {5 6}
}

// Through a port, any goroutine acts on the world while it ticks: the handle of
// a new entity is good at once, the rest is done by the next refresh, in the
// order sent. Who needs to know waits for the outcome.
func ExamplePort() {
	w := world.MustNew(world.Options{})
	health := world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w)

	refreshed := make(chan struct{})
	go func() { // a connection, say
		defer close(refreshed)
		port, err := w.OpenPort()
		if err != nil {
			fmt.Println(err)
			return
		}
		defer port.Close()

		unit, _ := units.Create(port, Unit{Health{10}})
		_ = health.Set(port, unit, Health{9})
		var first, second world.Completion
		_ = port.Notify(&first).Destroy(unit)
		_ = port.Notify(&second).Destroy(unit)

		for _, done := range []*world.Completion{&first, &second} {
			outcome, _ := done.Wait(context.Background())
			fmt.Println(outcome)
		}
		fmt.Println(port.Status(unit))
	}()
	for {
		select {
		case <-refreshed:
			return
		default:
			w.Refresh() // as a scheduler does, many times a second
		}
	}
	// Output:
	// applied
	// gone
	// stale
}

// A message sent in one tick is there in the next, on the shard that holds the
// entity.
func ExampleMessage() {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	hit := world.RegisterMessage[Hit](w, "hit")
	units := world.NewBundle[Unit](w)
	unit, _ := units.Create(w, Unit{Health{10}})

	s := scheduler.New(w, scheduler.Options{})
	s.MustAdd("fight", func(b *world.Build) func(*world.Context) {
		hits, health := world.Receive[Hit](b), world.Write[Health](b)
		return func(*world.Context) {
			for _, e := range hits.All() {
				if h := health.Get(e.To); h != nil {
					h.Points -= e.Body.Damage
				}
			}
		}
	})

	port, _ := w.OpenPort()
	defer port.Close()
	_ = hit.Send(port, unit, Hit{3})
	_ = hit.Send(port, unit, Hit{4})
	for range 3 {
		_ = s.Step(context.Background())
		fmt.Println(world.Read[Health](w).Get(unit).Points)
	}
	// Output:
	// 10
	// 3
	// 3
}
