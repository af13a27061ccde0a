package guide_test

import (
	"context"
	"fmt"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

type (
	// Mind is what thinks.
	Mind struct{ Thoughts int }
	// Noise is what it hears.
	Noise struct{}
)

// Weather is a system that is not needed all the time.
func Weather(*world.Build) func(*world.Context) { return func(*world.Context) {} }

func Example_turns() {
	type thinker struct{ Mind }
	w := world.MustNew(world.Options{Shards: 1})
	world.Register[Mind](w, "mind")
	thinkers := world.NewBundle[thinker](w)
	s := scheduler.New(w, scheduler.Options{})

	const asleep world.Flags = 1 << 1
	noises := world.RegisterMessage[Noise](w, "noise")
	noises.Wakes(asleep)
	s.MustAdd("think", func(b *world.Build) func(*world.Context) {
		minds := world.Write[Mind](b)
		awake := b.Query(minds, world.WithoutFlags(b, asleep), world.Turns(b, 4))
		return func(c *world.Context) {
			met := 0
			for ch := range awake.Chunks() {
				for i := range minds.Slice(ch) {
					minds.Slice(ch)[i].Thoughts++
					met++
				}
			}
			fmt.Printf("tick %d: %d think, of %.1f s\n", c.Tick(), met, awake.Delta())
		}
	})

	all, _ := thinkers.AppendN(nil, w, 100, nil)
	for _, h := range all[:60] {
		_ = world.AddFlags(w, h, asleep)
	}
	_ = s.Step(context.Background())
	_ = s.Step(context.Background())
	for _, h := range all[:20] {
		_ = noises.Send(w, h, Noise{}) // by a system, port or timer just as well
	}
	_ = s.Step(context.Background())
	late := func(w *world.World, chat world.Refusable) *scheduler.Scheduler {
		s := scheduler.New(w, scheduler.Options{Ladder: []scheduler.Rung{
			scheduler.SkipOptional(), scheduler.Stretch(2), scheduler.Refuse(chat), scheduler.Slow(2),
		}})
		s.MustAdd("weather", Weather, scheduler.Optional())
		return s
	}
	_ = late(w, noises)
	// Output:
	// tick 0: 9 think, of 0.2 s
	// tick 1: 11 think, of 0.2 s
	// tick 2: 16 think, of 0.2 s
}
