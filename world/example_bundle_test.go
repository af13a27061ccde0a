package world_test

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// The fields of a bundle are components, embedded or by name.
func ExampleNewBundle() {
	type Soldier struct {
		Position // as a field of its own name
		Strength Health
		_        Frozen // a component of which nobody sets the value
	}
	w := world.MustNew(world.Options{})
	world.Register[Position](w, "position")
	world.Register[Health](w, "health")
	frozen := world.Register[Frozen](w, "frozen")
	soldiers := world.NewBundle[Soldier](w)

	soldier, _ := soldiers.Create(w, Soldier{Position: Position{1, 2}, Strength: Health{10}})
	fmt.Println(*world.Read[Position](w).Get(soldier), *world.Read[Health](w).Get(soldier), w.Has(soldier, frozen))
	// Output: {1 2} {10} true
}

// Many at once, each filled in where it is.
func ExampleBundle_CreateN() {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w)

	_ = units.Reserve(w, 100_000) // memory for as many, so that no create has to wait for it
	err := units.CreateN(w, 100_000, func(i int, u *Unit) { u.Points = int64(i) })
	fmt.Println(w.Count(), err)
	// Output: 100000 <nil>
}

// Many at once, of which the handles are wanted.
func ExampleBundle_AppendN() {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w)

	var squad []handle.Handle
	squad, _ = units.AppendN(squad, w, 3, nil)
	squad, _ = units.AppendN(squad, w, 1, func(_ int, u *Unit) { u.Points = 100 })
	fmt.Println(squad)
	// Output: [0:0@1 0:1@1 0:2@1 0:3@1]
}

// The fastest way to create many: column by column.
func ExampleBundle_CreateRows() {
	w := world.MustNew(world.Options{Shards: 2})
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	movers := world.NewBundle[Mover](w)
	vel := world.Write[Velocity](w)

	_ = movers.CreateRows(w, 1000, func(rows world.Chunk) {
		v := vel.Slice(rows)
		for i := range v {
			v[i] = Velocity{1, 1}
		}
	})
	fmt.Println(w.Count())
	// Output: 1000
}

// Entities that have to do with each other belong in one shard: here those of one
// region of the map.
func ExampleBundle_PlaceBy() {
	w := world.MustNew(world.Options{Shards: 4})
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	movers := world.NewBundle[Mover](w).PlaceBy(func(m Mover) int {
		if x := m.Position.X / 100; x >= 1 {
			return int(min(x, 3))
		}
		return 0 // also if X is negative or not a number
	})

	west, _ := movers.Create(w, Mover{Position: Position{10, 0}})
	east, _ := movers.Create(w, Mover{Position: Position{310, 0}})
	fmt.Println(west.Home(), east.Home())
	// Output: 0 3
}

// Several components given in one step, others taken in the same.
func ExampleBundle_Add() {
	w := world.MustNew(world.Options{})
	world.Register[Position](w, "position")
	velocity := world.Register[Velocity](w, "velocity")
	world.Register[Health](w, "health")
	frozen := world.Register[Frozen](w, "frozen")
	movers, statues, units := world.NewBundle[Mover](w), world.NewBundle[Statue](w), world.NewBundle[Unit](w)

	h, _ := movers.Create(w, Mover{Position{1, 2}, Velocity{3, 4}})
	_ = statues.Add(w, h, Statue{Position: Position{5, 6}}, velocity) // turned into stone
	fmt.Println(w.Has(h, frozen), w.Has(h, velocity), *world.Read[Position](w).Get(h))

	_ = units.Add(w, h, Unit{Health{1}}) // and given health
	fmt.Println(w.Has(h, frozen), *world.Read[Health](w).Get(h))
	// Output:
	// true false {5 6}
	// true {1}
}

// The same for all entities of a query.
func ExampleBundle_AddTo() {
	w := world.MustNew(world.Options{})
	world.Register[Position](w, "position")
	velocity := world.Register[Velocity](w, "velocity")
	world.Register[Health](w, "health")
	world.Register[Frozen](w, "frozen")
	movers, statues, units := world.NewBundle[Mover](w), world.NewBundle[Statue](w), world.NewBundle[Unit](w)
	_ = movers.CreateN(w, 100, nil)

	health := world.Write[Health](w)
	_ = statues.AddTo(w.Query(world.With[Velocity](w)), nil, velocity)
	cold := w.Query(world.With[Frozen](w))
	_ = units.AddTo(cold, func(rows world.Chunk) {
		for i := range health.Slice(rows) {
			health.Slice(rows)[i].Points = 7
		}
	})
	fmt.Println(w.Query(health, world.With[Frozen](w)).Count(), w.Query(world.With[Velocity](w)).Count())

	_ = cold.Remove(units)
	fmt.Println(w.Query(health).Count())
	// Output:
	// 100 0
	// 0
}
