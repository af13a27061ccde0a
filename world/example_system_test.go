package world_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// stepped runs systems for a number of ticks, named a, b, c and so on.
func stepped(w *world.World, ticks int, systems ...scheduler.System) {
	s := scheduler.New(w, scheduler.Options{})
	for i, system := range systems {
		s.MustAdd(string(rune('a'+i)), system)
	}
	for range ticks {
		if err := s.Step(context.Background()); err != nil {
			fmt.Println(err)
		}
	}
}

// What a system needs it asks its Build for, once per shard; that also tells the
// scheduler what it may run beside.
func ExampleBuild() {
	w := world.MustNew(world.Options{Shards: 2})
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	movers := world.NewBundle[Mover](w)
	mover, _ := movers.Create(w, Mover{Velocity: Velocity{10, 0}})

	stepped(w, 2, func(b *world.Build) func(*world.Context) {
		pos, vel := world.Write[Position](b), world.Read[Velocity](b)
		moving := b.Query(pos, vel)
		b.Creates(movers)
		return func(c *world.Context) {
			for ch := range moving.Chunks() {
				p, v := pos.Slice(ch), vel.Slice(ch)
				for i := range p {
					p[i].X += v[i].X * c.Delta()
				}
			}
			if c.Tick() == 0 {
				_, _ = movers.Create(c, Mover{}) // in this shard
			}
		}
	})
	fmt.Println(*world.Read[Position](w).Get(mover), w.Count())
	// Output: {1 0} 3
}

// In its shard a system acts at once, elsewhere by request: here each shard
// sends its units to the next, and destroys one.
func ExampleContext() {
	w := world.MustNew(world.Options{Shards: 2})
	world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w).PlaceBy(func(u Unit) int { return int(u.Points) })
	first, _ := units.Create(w, Unit{Health{0}})
	second, _ := units.Create(w, Unit{Health{1}})

	stepped(w, 1, func(b *world.Build) func(*world.Context) {
		mine := b.Query(world.Write[Health](b))
		return func(c *world.Context) {
			for ch := range mine.Chunks() {
				for _, h := range ch.Handles() {
					_ = world.Move(c, h, (c.Shard()+1)%c.Shards())
				}
			}
			if c.Owns(first) {
				fmt.Println(c.System(), c.Status(second), c.Destroy(second)) // of another shard
			}
		}
	})
	shard, _ := w.Owner(first)
	fmt.Println(shard, w.Status(first), w.Status(second))
	// Output:
	// a alive <nil>
	// 1 alive stale
}

// Random numbers that are the same for any number of workers.
func ExampleContext_Rand() {
	roll := func() (dice []int) {
		w := world.MustNew(world.Options{Shards: 1, Seed: 7})
		stepped(w, 3, func(*world.Build) func(*world.Context) {
			return func(c *world.Context) { dice = append(dice, 1+c.Rand().IntN(6)) }
		})
		return dice
	}
	first, second := roll(), roll()
	fmt.Println(slices.Equal(first, second))
	// Output: true
}

// A system that reads other shards: the scheduler lets it run when all of them
// have passed the last system that writes what it reads.
func ExampleReadForeign() {
	type Target struct{ Of handle.Handle }
	type Turret struct{ Target }
	w := world.MustNew(world.Options{Shards: 4})
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	world.Register[Target](w, "target")
	tank, _ := world.NewBundle[Mover](w).Create(w, Mover{Position: Position{7, 7}})
	_ = world.NewBundle[Turret](w).PlaceBy(func(Turret) int { return 3 }).CreateN(w, 1, func(_ int, t *Turret) { t.Of = tank })

	stepped(w, 1, func(b *world.Build) func(*world.Context) {
		target, position := world.Read[Target](b), world.ReadForeign[Position](b)
		turrets := b.Query(target)
		return func(c *world.Context) {
			for ch := range turrets.Chunks() {
				for _, t := range target.Slice(ch) {
					at, ok := position.Get(t.Of) // a copy
					fmt.Println("shard", c.Shard(), "aims at", at, ok)
				}
			}
		}
	})
	// Output: shard 3 aims at {7 7} true
}

// Shards that lie beside each other on a map read only of their neighbours, and
// wait only for those.
func ExampleReadForeign_neighbours() {
	w := world.MustNew(world.Options{Shards: 4})
	world.Register[Health](w, "health")
	all, _ := world.NewBundle[Unit](w).PlaceBy(func(u Unit) int { return int(u.Points) }).
		AppendN(nil, w, 4, func(i int, u *Unit) { u.Points = int64(i) })

	stepped(w, 1, func(b *world.Build) func(*world.Context) {
		west, east := max(b.Shard()-1, 0), min(b.Shard()+1, b.Shards()-1)
		health := world.ReadForeign[Health](b, west, east)
		return func(c *world.Context) {
			if c.Shard() != 1 {
				return
			}
			for _, h := range all {
				_, ok := health.Get(h)
				fmt.Print(ok, " ")
			}
		}
	})
	// Output: true true true false
}

// A ForeignReader has copies alone, for any handle.
func ExampleForeignReader() {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	unit, _ := world.NewBundle[Unit](w).Create(w, Unit{Health{10}})

	stepped(w, 1, func(b *world.Build) func(*world.Context) {
		health := world.ReadForeign[Health](b)
		return func(c *world.Context) {
			if c.Shard() == 0 {
				fmt.Println(health.Get(unit))
				fmt.Println(health.Get(handle.None))
			}
		}
	})
	// Output:
	// {10} true
	// {0} false
}

// What can be asked of a Build can be asked of an idle World as well, so a helper
// serves both.
func ExampleBinder() {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	_ = world.NewBundle[Unit](w).CreateN(w, 3, func(i int, u *Unit) { u.Points = int64(i) })

	weakest := func(a world.Binder) func(q *world.Query) int64 {
		health := world.Read[Health](a)
		return func(q *world.Query) int64 {
			least := int64(1 << 62)
			for ch := range q.Chunks() {
				for _, h := range health.Slice(ch) {
					least = min(least, h.Points)
				}
			}
			return least
		}
	}
	fmt.Println(weakest(w)(w.Query(world.With[Health](w))))
	// Output: 0
}

// Messages are registered by type; they are delivered in the next tick.
func ExampleRegisterMessage() {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	greet := world.RegisterMessage[Greet](w, "greet")
	unit, _ := world.NewBundle[Unit](w).Create(w, Unit{})

	fmt.Println(greet.Send(w, unit, Greet{"good morning"}))
	fmt.Println(greet.Send(w, handle.None, Greet{"anybody?"}))
	// Output:
	// <nil>
	// world: entity is not alive
}

// A system hears what was sent to the entities of its shard.
func ExampleReceive() {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	greet := world.RegisterMessage[Greet](w, "greet")
	unit, _ := world.NewBundle[Unit](w).Create(w, Unit{})
	_ = greet.Send(w, unit, Greet{"hello"})

	stepped(w, 2, func(b *world.Build) func(*world.Context) {
		greetings := world.Receive[Greet](b)
		return func(c *world.Context) {
			for _, e := range greetings.All() {
				fmt.Println("tick", c.Tick(), e.To == unit, e.Body.Text)
			}
		}
	})
	// Output: tick 0 true hello
}

// The messages of a tick are one slice, in a defined order.
func ExampleReceiver() {
	w := world.MustNew(world.Options{Shards: 1})
	world.Register[Health](w, "health")
	hit := world.RegisterMessage[Hit](w, "hit")
	unit, _ := world.NewBundle[Unit](w).Create(w, Unit{})
	first, _ := w.OpenPort()
	second, _ := w.OpenPort()
	_ = hit.Send(second, unit, Hit{1}) // whoever was faster
	_ = hit.Send(first, unit, Hit{2})
	_ = hit.Send(first, unit, Hit{3})
	w.Refresh()

	stepped(w, 1, func(b *world.Build) func(*world.Context) {
		hits := world.Receive[Hit](b)
		return func(*world.Context) {
			for _, e := range hits.All() {
				fmt.Print(e.Body.Damage, " ")
			}
		}
	})
	// Output: 2 3 1
}

// An envelope says for whom a message is.
func ExampleEnvelope() {
	e := world.Envelope[Hit]{To: handle.New(0, 5, 1), Body: Hit{3}}
	fmt.Println(e.Body.Damage, "to", e.To)
	// Output: 3 to 0:5@1
}
