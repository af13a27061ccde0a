package guide_test

import (
	"context"
	"fmt"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

type Said struct{ Text string }

func Example_outside() {
	ctx, w := context.Background(), world.MustNew(world.Options{})
	s := scheduler.New(w, scheduler.Options{})

	said := world.RegisterOutput[Said](w, "said")
	said.Handle(func(at world.Moment, v Said) { fmt.Println(at.Tick, v.Text) }) // to the sockets
	s.MustAdd("greet", func(b *world.Build) func(*world.Context) {
		return func(c *world.Context) {
			if c.Shard() == 0 {
				_ = said.Put(c, Said{Text: "good morning"})
			}
		}
	})
	_ = s.Step(ctx)
	// Output:
	// 0 good morning
}
