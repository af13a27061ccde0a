package world_test

import (
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// A hook is told at the refresh of what has happened to entities of its kind, all of
// a shard at once: here of those who have died, while they can still be looked at.
func ExampleHook() {
	w := world.MustNew(world.Options{Shards: 1})
	health := world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w)
	mourn := w.Observe("mourn", world.OnDestroy, func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
		points := world.Read[Health](b)
		return func(c *world.Context, on world.Event, dead []handle.Handle) {
			for _, h := range dead {
				fmt.Println(on, h, "with", points.Get(h).Points)
			}
		}
	}, health)
	squad, _ := units.AppendN(nil, w, 3, func(i int, u *Unit) { u.Points = int64(10 * i) })
	w.Refresh()

	w.Destroy(squad[0])
	w.Destroy(squad[2])
	w.Refresh()
	fmt.Println(len(w.Hooks()), mourn.Name(), mourn.On(), mourn.Enabled(0))

	mourn.SetEnabled(false)
	w.Destroy(squad[1])
	w.Refresh()
	// Output:
	// OnDestroy 0:0@1 with 0
	// OnDestroy 0:2@1 with 20
	// 1 mourn OnDestroy true
}

// The events, each with who is concerned.
func ExampleEvent() {
	w := world.MustNew(world.Options{Shards: 1})
	health := world.Register[Health](w, "health")
	frozen := world.Register[Frozen](w, "frozen")
	units := world.NewBundle[Unit](w)
	tell := func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
		return func(_ *world.Context, on world.Event, hs []handle.Handle) { fmt.Println(on, hs) }
	}
	w.Observe("lives", world.OnCreate|world.OnDestroy, tell)
	w.Observe("cold", world.OnAdd|world.OnRemove, tell, frozen)
	w.Observe("health", world.OnSet, tell, health)
	port, _ := w.OpenPort()

	unit, _ := units.Create(w, Unit{})
	w.Refresh()
	_ = frozen.Add(port, unit, Frozen{})
	_ = health.Set(port, unit, Health{5})
	w.Refresh()
	_ = frozen.Remove(port, unit)
	w.Refresh()
	_ = port.Destroy(unit)
	w.Refresh()
	// Output:
	// OnCreate [0:0@1]
	// OnAdd [0:0@1]
	// OnSet [0:0@1]
	// OnRemove [0:0@1]
	// OnDestroy [0:0@1]
}

// A hook that panics harms nobody else. Whoever ticks decides what becomes of it.
func ExampleHookError() {
	w := world.MustNew(world.Options{Shards: 1})
	units := world.NewBundle[struct{}](w)
	w.Observe("fragile", world.OnCreate, func(*world.Build) func(*world.Context, world.Event, []handle.Handle) {
		return func(*world.Context, world.Event, []handle.Handle) { panic("broken") }
	})
	_, _ = units.Create(w, struct{}{})

	tick := w.BeginTick()
	tick.End(serial)
	for _, broken := range tick.Broken() {
		fmt.Println(broken)
		broken.Hook.DisableOn(broken.Shard)
	}
	var broken *world.HookError
	fmt.Println(errors.As(w.Failure(), &broken), broken.Hook.Enabled(0))
	// Output:
	// world: hook "fragile" panicked OnCreate, on shard 0, at the end of tick 0: broken
	// true false
}
