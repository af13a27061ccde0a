package world_test

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// What has died leaves a mark where it was: the components hold their last values.
func ExampleWorld_Observe() {
	w := world.MustNew(world.Options{Shards: 1})
	health := world.Register[Health](w, "health")
	world.Register[Position](w, "position")
	type Orc struct {
		Health
		Position
	}
	type Stain struct{ Position }
	orcs, stains := world.NewBundle[Orc](w), world.NewBundle[Stain](w)
	w.Observe("blood", world.OnDestroy, func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
		pos := world.Read[Position](b)
		b.Creates(stains)
		return func(c *world.Context, on world.Event, dead []handle.Handle) {
			for _, h := range dead {
				fmt.Println(on, h, "at", *pos.Get(h))
				_, _ = stains.Create(c, Stain{*pos.Get(h)})
			}
		}
	}, health)

	orc, _ := orcs.Create(w, Orc{Health{3}, Position{4, 5}})
	w.Refresh()
	w.Destroy(orc)
	w.Refresh()
	fmt.Println(w.Alive(orc), w.Count())
	// Output:
	// OnDestroy 0:0@1 at {4 5}
	// false 1
}

// A hook of several events is told of each by itself, and of what came about since the
// last refresh.
func ExampleEvent() {
	w := world.MustNew(world.Options{Shards: 1})
	health := world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w)
	all := world.OnCreate | world.OnRemove | world.OnAdd | world.OnSet | world.OnDestroy
	w.Observe("log", all, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
		return func(_ *world.Context, on world.Event, hs []handle.Handle) { fmt.Println(on, hs) }
	}, health)

	one, _ := units.Create(w, Unit{})
	two, _ := units.Create(w, Unit{})
	w.Refresh()
	_ = health.Set(w, one, Health{1})
	_ = health.Remove(w, two)
	w.Refresh()
	_ = health.Add(w, two, Health{2})
	w.Destroy(one)
	w.Refresh()
	// Output:
	// OnCreate [0:0@1 0:1@1]
	// OnRemove [0:1@1]
	// OnSet [0:0@1]
	// OnAdd [0:1@1]
	// OnDestroy [0:0@1]
}

// Hooks can be switched off; what happens meanwhile they are never told of.
func ExampleHook() {
	w := world.MustNew(world.Options{Shards: 1})
	world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w)
	hook := w.Observe("count", world.OnCreate, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
		return func(_ *world.Context, _ world.Event, hs []handle.Handle) { fmt.Println(len(hs), "more") }
	})
	_ = units.CreateN(w, 3, nil)
	w.Refresh()
	hook.SetEnabled(false)
	_ = units.CreateN(w, 40, nil)
	w.Refresh()
	hook.SetEnabled(true)
	w.Refresh()
	// Output:
	// 3 more
}
