package world_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Options that break a limit are refused, each by its name.
func ExampleNew() {
	_, err := world.New(world.Options{PortsMax: -1, TickInterval: -time.Second})
	fmt.Println(err)

	w, err := world.New(world.Options{Shards: 8})
	fmt.Println(w.Shards(), err)
	// Output:
	// world: PortsMax is -1, want 1 to 1048576
	// world: TickInterval is -1s, want more than 0
	// 8 <nil>
}

// In a program whose options are constants there is no error to handle.
func ExampleMustNew() {
	w := world.MustNew(world.Options{Shards: 16})
	fmt.Println(w.Shards(), w.Tick(), w.Count())
	// Output: 16 0 0
}

// A field that is zero means its default.
func ExampleOptions() {
	w := world.MustNew(world.Options{TickInterval: time.Second / 30})
	o := w.Options()
	fmt.Println(o.Shards, o.TickInterval, o.QueueRequests, o.KeepOrder)
	// Output: 4 33.333333ms 4096 false
}

// Who remembers a handle asks what it stands for.
func ExampleStatus() {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w)
	port, _ := w.OpenPort()

	pending, _ := units.Create(port, Unit{})
	alive, _ := units.Create(w, Unit{})
	dying, _ := units.Create(w, Unit{})
	w.Destroy(dying)
	fmt.Println(w.Status(pending), w.Status(alive), w.Status(dying), w.Status(handle.None))
	w.Refresh()
	fmt.Println(w.Status(pending), w.Status(alive), w.Status(dying), w.Status(handle.None))
	// Output:
	// pending alive dying forged
	// alive alive stale forged
}

// Clearing destroys all, at once. Handles stay stale: the versions go on.
func ExampleWorld_Clear() {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w)
	old, _ := units.Create(w, Unit{})
	_ = units.CreateN(w, 99, nil)

	fmt.Println(w.Count())
	w.Clear()
	again, _ := units.Create(w, Unit{})
	fmt.Println(w.Count(), old, w.Status(old), again, w.Status(again))
	// Output:
	// 100
	// 1 0:0@1 stale 0:0@2 alive
}

// A copy is an entity of its own, with the same components.
func ExampleCopy() {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	unit, _ := world.NewBundle[Unit](w).Create(w, Unit{Health{10}})
	health := world.Write[Health](w)

	twin, _ := world.Copy(w, unit)
	health.Get(unit).Points = 1
	fmt.Println(health.Get(unit).Points, health.Get(twin).Points)

	w.Destroy(unit)
	w.Refresh()
	_, err := world.Copy(w, unit)
	fmt.Println(errors.Is(err, world.ErrStale), w.Alive(twin))
	// Output:
	// 1 10
	// true true
}

// What an entity has, where it is, and who can be asked for several components at
// the price of one look-up.
func ExampleWorld_Locate() {
	w := world.MustNew(world.Options{})
	position := world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	health := world.Register[Health](w, "health")
	mover, _ := world.NewBundle[Mover](w).Create(w, Mover{Position{1, 2}, Velocity{3, 4}})
	fmt.Println(w.Has(mover, position), w.Has(mover, health))

	pos, vel := world.Write[Position](w), world.Read[Velocity](w)
	at := w.Locate(mover)
	pos.At(at).X += vel.At(at).X
	fmt.Println(*pos.Get(mover))

	shard, ok := w.Owner(mover)
	fmt.Println(shard, ok, w.Locate(handle.None) == 0)
	// Output:
	// true false
	// {4 2}
	// 0 true true
}

// What a server exports for its dashboards.
func ExampleStats() {
	w := world.MustNew(world.Options{Shards: 2})
	world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w)
	_ = units.CreateN(w, 100, nil)
	unit, _ := units.Create(w, Unit{})
	w.Destroy(unit)

	var stats world.Stats // used again each time
	w.Stats(&stats)
	fmt.Println(stats.Entities, stats.Created, stats.Destroyed)
	w.Refresh()
	w.Stats(&stats)
	fmt.Println(stats.Entities, stats.Created, stats.Destroyed)
	// Output:
	// 101 101 0
	// 100 101 1
}

// What the steps of refreshes took, and how long requests of ports waited.
func ExampleStepStats() {
	w := world.MustNew(world.Options{Shards: 2})
	world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w)
	port, _ := w.OpenPort()
	_, _ = units.Create(port, Unit{})
	var stats world.Stats
	w.Stats(&stats)
	fmt.Println("waiting:", stats.Waiting)
	_ = scheduler.New(w, scheduler.Options{}).Step(context.Background())
	w.Stats(&stats)
	for _, step := range stats.Steps {
		if step.Name == "create" {
			fmt.Println("ticks that created:", step.Time.Count(), step.Time.Max() > 0)
		}
	}
	fmt.Println("waiting:", stats.Waiting, "waited:", stats.Latency.Count())
	// Output:
	// waiting: 1
	// ticks that created: 1 true
	// waiting: 0 waited: 1
}

// How evenly the shards are filled.
func ExampleShardStats() {
	w := world.MustNew(world.Options{Shards: 2})
	world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w).PlaceBy(func(u Unit) int { return int(u.Points % 2) })
	for i := range int64(10) {
		_, _ = units.Create(w, Unit{Health{i / 3}})
	}
	var stats world.Stats
	w.Stats(&stats)
	for i, s := range stats.Shards {
		fmt.Println("shard", i, "has", s.Entities)
	}
	// Output:
	// shard 0 has 6
	// shard 1 has 4
}

// To move an entity is to change the shard that owns it; its handle stays.
func ExampleMove() {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	unit, _ := world.NewBundle[Unit](w).Create(w, Unit{Health{10}})
	before, _ := w.Owner(unit)

	_ = world.Move(w, unit, 3)
	after, _ := w.Owner(unit)
	fmt.Println(unit, before, "to", after, *world.Read[Health](w).Get(unit))
	// Output: 0:0@1 0 to 3 {10}
}
