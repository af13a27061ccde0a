package scheduler_test

import (
	"fmt"
	"time"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// What a server does without while its ticks take too long: first the weather, then minds think
// half as often, then nobody may chat, and at last everything goes half as fast.
func ExampleRung() {
	w := world.MustNew(world.Options{TickInterval: 50 * time.Millisecond})
	chat := world.RegisterFunc(w, "chat", func(*world.EntityContext, string) {})
	ladder := []scheduler.Rung{scheduler.SkipOptional(), scheduler.Stretch(2), scheduler.Refuse(chat), scheduler.Slow(2)}
	var s *scheduler.Scheduler
	s = scheduler.New(w, scheduler.Options{
		Ladder: ladder,
		OnTick: func(r scheduler.Report) { fmt.Println("tick", r.Tick, "with", r.Rung, "of", s.Options().Ladder) },
	})
	s.MustAdd("weather", says, scheduler.Global(), scheduler.Optional())
	stepped(s, 1)
	// Output: weather tick 0 with 0 of [SkipOptional Stretch(2) Refuse(chat) Slow(2)]
}

// The simulation can do without weather for a while.
func ExampleOptional() {
	s := scheduler.New(world.MustNew(world.Options{}), scheduler.Options{Ladder: []scheduler.Rung{scheduler.SkipOptional()}})
	s.MustAdd("weather", says, scheduler.Global(), scheduler.Optional())
	stepped(s, 2) // Run alone goes up the ladder
	// Output: weather weather
}

// While ticks take too long, systems that are Optional do not run.
func ExampleSkipOptional() {
	fmt.Println(scheduler.SkipOptional())
	// Output: SkipOptional
}

// While ticks take too long, Turns(8) becomes Turns(16).
func ExampleStretch() {
	fmt.Println(scheduler.Stretch(2))
	// Output: Stretch(2)
}

// While ticks take too long, nobody may chat: Call by a port returns world.ErrRefused.
func ExampleRefuse() {
	w := world.MustNew(world.Options{})
	chat := world.RegisterFunc(w, "chat", func(*world.EntityContext, string) {})
	s := scheduler.New(w, scheduler.Options{Ladder: []scheduler.Rung{scheduler.Refuse(chat)}})
	fmt.Println(s.Options().Ladder)
	// Output: [Refuse(chat)]
}

// While ticks take too long, they come half as often.
func ExampleSlow() {
	fmt.Println(scheduler.Slow(2))
	// Output: Slow(2)
}
