package world_test

import (
	"context"
	"fmt"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

type (
	weather struct{ Wind float64 }
	census  struct{ Units, Points int64 }
)

// A resource is a value of the whole world.
func ExampleRegisterResource() {
	w := world.MustNew(world.Options{})
	now := world.RegisterResource(w, "weather", weather{Wind: 3})
	now.Set(weather{Wind: 4})
	fmt.Println(now.Get())
	// Output: {4}
}

// An accumulator is added to by every shard on its own and merged in order.
func ExampleRegisterAccumulator() {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	total := world.RegisterAccumulator(w, "census", func(total, part *census) {
		total.Units += part.Units
		total.Points += part.Points
	})
	_ = world.NewBundle[Unit](w).CreateN(w, 1000, func(_ int, u *Unit) { u.Points = 5 })

	stepped(w, 1, func(b *world.Build) func(*world.Context) {
		part, health := world.Accumulate[census](b), world.Read[Health](b)
		all := b.Query(health)
		return func(*world.Context) {
			for ch := range all.Chunks() {
				for _, h := range health.Slice(ch) {
					part.Units++
					part.Points += h.Points
				}
			}
		}
	})
	fmt.Println(total.Get())
	// Output: {1000 5000}
}

// Each shard has a part of its own, which is zero when the tick begins.
func ExampleAccumulate() {
	w := world.MustNew(world.Options{Shards: 3})
	total := world.RegisterAccumulator(w, "census", func(total, part *census) { total.Units += part.Units })
	stepped(w, 5, func(b *world.Build) func(*world.Context) {
		part := world.Accumulate[census](b)
		return func(*world.Context) { part.Units++ }
	})
	fmt.Println(total.Get().Units) // of the last tick
	// Output: 3
}

// Systems on every shard read what a global system wrote before them.
func ExampleReadResource() {
	w := world.MustNew(world.Options{Shards: 2})
	world.RegisterResource(w, "weather", weather{})
	s := scheduler.New(w, scheduler.Options{Workers: 1})
	s.MustAdd("forecast", func(b *world.Build) func(*world.Context) {
		now := world.WriteResource[weather](b)
		return func(c *world.Context) { now.Wind++ }
	}, scheduler.Global())
	s.MustAdd("sail", func(b *world.Build) func(*world.Context) {
		now := world.ReadResource[weather](b)
		return func(c *world.Context) { fmt.Println("shard", c.Shard(), "sails by", now.Get().Wind) }
	})
	_ = s.Step(context.Background())
	// Unordered output:
	// shard 0 sails by 1
	// shard 1 sails by 1
}

// A global system alone writes a resource: shards would do so at the same time.
func ExampleWriteResource() {
	w := world.MustNew(world.Options{})
	now := world.RegisterResource(w, "weather", weather{Wind: 1})
	s := scheduler.New(w, scheduler.Options{})
	storm := func(b *world.Build) func(*world.Context) {
		now := world.WriteResource[weather](b)
		return func(*world.Context) { now.Wind *= 2 }
	}
	s.MustAdd("storm", storm, scheduler.Global())
	for range 3 {
		_ = s.Step(context.Background())
	}
	fmt.Println(now.Get().Wind)
	// Output: 8
}

// Between ticks a resource is read and set by whoever holds it.
func ExampleResource() {
	w := world.MustNew(world.Options{})
	rules := world.RegisterResource(w, "rules", map[string]int{"players": 8})
	fmt.Println(engine.Of(w).ResourceName(0), rules.Get()["players"])
	// Output: rules 8
}

// What a system reads is a copy.
func ExampleResourceReader() {
	w := world.MustNew(world.Options{Shards: 1})
	world.RegisterResource(w, "weather", weather{Wind: 3})
	stepped(w, 1, func(b *world.Build) func(*world.Context) {
		now := world.ReadResource[weather](b)
		return func(*world.Context) { fmt.Println(now.Get()) }
	})
	// Output: {3}
}
