package guide_test

import (
	"context"
	"fmt"

	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

type (
	// Shield holds off what comes until it is gone.
	Shield struct{ Left int }
	// Fade is what a timer tells a shield.
	Fade struct{ By int }
)

func Example_timers() {
	type guarded struct{ Shield }
	w := world.MustNew(world.Options{})
	world.Register[Shield](w, "shield")
	guards := world.NewBundle[guarded](w)
	s := scheduler.New(w, scheduler.Options{})

	fade := world.RegisterMessage[Fade](w, "fade")
	fades := timer.New(w, "fades", fade, timer.Options{})
	s.MustAdd("fading", func(b *world.Build) func(*world.Context) {
		in, shields := world.Receive[Fade](b), world.Write[Shield](b)
		return func(c *world.Context) {
			for _, m := range in.All() {
				if x := shields.Get(m.To); x != nil {
					x.Left -= m.Body.By
					fmt.Println("tick", c.Tick(), "left", x.Left)
				}
			}
		}
	})

	h, _ := guards.Create(w, guarded{Shield{10}})
	slow, _ := fades.Every(w, h, 2, Fade{1})
	_, _ = fades.After(w, h, 3, Fade{5})
	for range 6 {
		_ = s.Step(context.Background())
	}
	_ = fades.Cancel(w, slow)
	for range 6 {
		_ = s.Step(context.Background())
	}
	// Output:
	// tick 2 left 9
	// tick 3 left 4
	// tick 4 left 3
	// tick 6 left 2
}
