package scheduler_test

import (
	"context"
	"fmt"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// says is a global system that prints its name.
func says(*world.Build) func(*world.Context) {
	return func(c *world.Context) { fmt.Print(c.System(), " ") }
}

// stepped makes a number of ticks.
func stepped(s *scheduler.Scheduler, ticks int) {
	for range ticks {
		if err := s.Step(context.Background()); err != nil {
			fmt.Println(err)
		}
	}
}

// A scheduler is made for a world, and given systems.
func ExampleNew() {
	s := scheduler.New(world.MustNew(world.Options{}), scheduler.Options{Workers: 2})
	s.MustAdd("hello", says, scheduler.Global())
	fmt.Println(s.Systems(), s.Workers())
	stepped(s, 3)
	// Output:
	// [hello] 2
	// hello hello hello
}

// A global system runs once per tick, and sees the whole world.
func ExampleGlobal() {
	s := scheduler.New(newRocks(), scheduler.Options{})
	s.MustAdd("count", func(b *world.Build) func(*world.Context) {
		all := b.Query(world.With[Warmth](b))
		return func(c *world.Context) { fmt.Println(all.Count(), c.Shard() == world.AllShards) }
	}, scheduler.Global())
	stepped(s, 1)
	// Output: 100 true
}

// Stages order systems that know nothing of each other.
func ExampleIn() {
	s := scheduler.New(world.MustNew(world.Options{}), scheduler.Options{})
	s.MustAdd("report", says, scheduler.Global(), scheduler.In(scheduler.PostUpdate))
	s.MustAdd("rules", says, scheduler.Global())
	s.MustAdd("input", says, scheduler.Global(), scheduler.In(scheduler.PreUpdate))
	stepped(s, 1)
	// Output: input rules report
}

// Systems of a stage run as added, unless they say otherwise.
func ExampleBefore() {
	s := scheduler.New(world.MustNew(world.Options{}), scheduler.Options{})
	s.MustAdd("rules", says, scheduler.Global())
	s.MustAdd("input", says, scheduler.Global(), scheduler.Before("rules"))
	stepped(s, 1)
	// Output: input rules
}

// A wish that cannot be granted is an error that names the systems.
func ExampleAfter() {
	s := scheduler.New(world.MustNew(world.Options{}), scheduler.Options{})
	s.MustAdd("egg", says, scheduler.Global(), scheduler.After("hen"))
	fmt.Println(s.Add("hen", says, scheduler.Global(), scheduler.After("egg")))
	// Output: scheduler: systems are to come before each other in a circle: "egg" before "hen" before "egg"; take one Before or After away
}

// What need not be done in each tick: here in ticks 1, 4 and 7.
func ExampleEvery() {
	s := scheduler.New(world.MustNew(world.Options{}), scheduler.Options{})
	s.MustAdd("save", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) { fmt.Printf("tick %d, %.2f s\n", c.Tick(), c.Delta()) }
	}, scheduler.Global(), scheduler.Every(3, 1))
	stepped(s, 9)
	// Output:
	// tick 1, 0.15 s
	// tick 4, 0.15 s
	// tick 7, 0.15 s
}

// A system that runs while a condition holds.
func ExampleWhen() {
	s := scheduler.New(world.MustNew(world.Options{}), scheduler.Options{})
	early := func(w *world.World) bool { return w.Tick() < 2 }
	s.MustAdd("tutorial", says, scheduler.Global(), scheduler.When(early))
	s.MustAdd("game", says, scheduler.Global())
	stepped(s, 4)
	// Output: tutorial game tutorial game game game
}

// A system that waits to be enabled.
func ExampleDisabled() {
	s := scheduler.New(world.MustNew(world.Options{}), scheduler.Options{})
	s.MustAdd("cheats", says, scheduler.Global(), scheduler.Disabled())
	fmt.Println(s.Enabled("cheats"))
	stepped(s, 1)
	_ = s.Enable("cheats")
	stepped(s, 2)
	// Output:
	// false
	// cheats cheats
}

// A system that panics does not take the others down, nor the tick.
func ExampleIfPanics() {
	s := scheduler.New(world.MustNew(world.Options{Shards: 1}), scheduler.Options{})
	s.MustAdd("weather", func(*world.Build) func(*world.Context) {
		return func(*world.Context) { panic("no such season") }
	}, scheduler.IfPanics(scheduler.DisableSystem))
	s.MustAdd("rules", says, scheduler.Global())
	err := s.Step(context.Background())
	fmt.Println(err != nil, s.Enabled("weather"))
	stepped(s, 2)
	// Output:
	// rules true false
	// rules rules
}

// Who waits for whom, and why.
func ExampleSchedule() {
	s := scheduler.New(newRocks(), scheduler.Options{})
	addRockSystems(s)
	schedule, _ := s.Schedule()
	for _, f := range schedule.Fences {
		fmt.Println(f.System, "waits for", f.After, f.Reasons)
	}
	// Output:
	// shine waits for turn ["sun": written, then read]
	// merge "mean" waits for measure ["mean": added to, then written]
}
