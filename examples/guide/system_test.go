package guide_test

import (
	"context"
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Sail moves what has a velocity.
func Sail(b *world.Build) func(*world.Context) {
	pos, vel := world.Write[Position](b), world.Read[Velocity](b)
	fleet := b.Query(pos, vel)
	return func(c *world.Context) {
		for ch := range fleet.Chunks() {
			p, v := pos.Slice(ch), vel.Slice(ch)
			for i := range p {
				p[i].X += v[i].X * c.Delta()
				p[i].Y += v[i].Y * c.Delta()
			}
		}
	}
}

// Launch creates a ship in each shard.
func Launch(ships *world.Bundle[Ship]) scheduler.System {
	return func(b *world.Build) func(*world.Context) {
		b.Creates(ships)
		return func(c *world.Context) {
			_, _ = ships.Create(c, Ship{Hull: Hull{5}}) // one in each shard, alive at once
		}
	}
}

// Leak takes a point of each hull, and sinks who has none left.
func Leak(b *world.Build) func(*world.Context) {
	hull := world.Write[Hull](b)
	fleet := b.Query(hull)
	return func(c *world.Context) {
		for ch := range fleet.Chunks() {
			points := hull.Slice(ch)
			for i := range points {
				if points[i].Points--; points[i].Points <= 0 {
					_ = c.Destroy(ch.Handle(i)) // it goes at the refresh
				}
			}
		}
	}
}

func Example_system() {
	w, ships := newSea()
	h, _ := ships.Create(w, Ship{Velocity: Velocity{10, 0}, Hull: Hull{3}})

	s := scheduler.New(w, scheduler.Options{})
	s.MustAdd("sail", Sail)
	s.MustAdd("leak", Leak)
	for range 3 {
		if err := s.Step(context.Background()); err != nil {
			fmt.Println(err)
		}
		fmt.Println(w.Tick(), w.Status(h), world.Read[Position](w).Get(h))
	}
	// Output:
	// 1 alive &{0.5 0}
	// 2 alive &{1 0}
	// 3 stale <nil>
}

// Wind is a value of the whole world.
type Wind struct{ Speed float64 }

// Blow is a global system: it runs once per tick.
func Blow(b *world.Build) func(*world.Context) {
	wind := world.WriteResource[Wind](b)
	return func(c *world.Context) { wind.Speed = 5 + float64(c.Rand().IntN(5)) }
}

// Drift runs on every shard and reads what Blow wrote.
func Drift(b *world.Build) func(*world.Context) {
	wind, vel := world.ReadResource[Wind](b), world.Write[Velocity](b)
	fleet := b.Query(vel)
	return func(*world.Context) {
		for ch := range fleet.Chunks() {
			v := vel.Slice(ch)
			for i := range v {
				v[i].X = wind.Get().Speed
			}
		}
	}
}

func Example_order() {
	w, ships := newSea()
	world.RegisterResource(w, "wind", Wind{})
	_ = ships.CreateN(w, 100, nil)

	s := scheduler.New(w, scheduler.Options{})
	s.MustAdd("sail", Sail)
	s.MustAdd("drift", Drift, scheduler.Before("sail"))
	s.MustAdd("blow", Blow, scheduler.Global(), scheduler.In(scheduler.PreUpdate))
	schedule, _ := s.Schedule()
	fmt.Print(schedule)
	// Output:
	// 1. blow (PreUpdate; once per tick)
	// 2. drift
	//    waits for the world to pass blow
	//       "wind": written, then read
	// 3. sail
}

type (
	Target struct{ Of handle.Handle }
	Fort   struct {
		Position
		Target
	}
	Hit struct{ Points int }
)

// Aim lets forts fire at the ships they aim at, in whichever shards these are.
func Aim(hit *world.Message[Hit]) scheduler.System {
	return func(b *world.Build) func(*world.Context) {
		target, hull := world.Read[Target](b), world.ReadForeign[Hull](b)
		forts := b.Query(target)
		return func(c *world.Context) {
			for ch := range forts.Chunks() {
				for _, t := range target.Slice(ch) {
					if h, ok := hull.Get(t.Of); ok && h.Points > 0 {
						_ = hit.Send(c, t.Of, Hit{10})
					}
				}
			}
		}
	}
}

// Suffer takes the hits of the ships of its shard.
func Suffer(b *world.Build) func(*world.Context) {
	hits, hull := world.Receive[Hit](b), world.Write[Hull](b)
	return func(c *world.Context) {
		for _, e := range hits.All() {
			if h := hull.Get(e.To); h != nil {
				h.Points -= e.Body.Points
			}
		}
	}
}

func Example_shards() {
	w, ships := newSea()
	world.Register[Target](w, "target")
	hit := world.RegisterMessage[Hit](w, "hit")
	forts := world.NewBundle[Fort](w)
	ship, _ := ships.Create(w, Ship{Hull: Hull{100}})
	_ = forts.CreateN(w, 200, func(i int, f *Fort) {
		if i%100 == 0 { // two of them, in two shards
			f.Target.Of = ship
		}
	})

	s := scheduler.New(w, scheduler.Options{})
	s.MustAdd("suffer", Suffer)
	s.MustAdd("aim", Aim(hit))
	for range 3 {
		_ = s.Step(context.Background())
		fmt.Println(*world.Read[Hull](w).Get(ship))
	}
	// Output:
	// {100}
	// {80}
	// {60}
}
