package world_test

import (
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// A component is any Go type, under a name that logs and saved states use.
func ExampleRegister() {
	type Mana struct{ Points int }
	w := world.MustNew(world.Options{})
	world.Register[Mana](w, "mana")
	fmt.Println(w.Describe().Components)

	defer func() { fmt.Println(recover()) }()
	world.Register[Health](w, "mana")
	// Output:
	// [mana]
	// world: component name "mana" is taken by world_test.Mana; pass another
}

// Components are added and taken away while an entity lives.
func ExampleComponent() {
	w := world.MustNew(world.Options{})
	health := world.Register[Health](w, "health")
	frozen := world.Register[Frozen](w, "frozen")
	unit, _ := world.NewBundle[Unit](w).Create(w, Unit{Health{10}})

	_ = frozen.Add(w, unit, Frozen{})
	_ = health.Set(w, unit, Health{9})
	fmt.Println(w.Has(unit, frozen), *world.Read[Health](w).Get(unit))

	_ = frozen.Remove(w, unit)
	fmt.Println(w.Has(unit, frozen))
	fmt.Println(errors.Is(frozen.Remove(w, unit), world.ErrMissing))
	// Output:
	// true {9}
	// false
	// true
}

// All entities of a query get a component in one move, in a fraction of the time
// of one by one.
func ExampleComponent_AddTo() {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	frozen := world.Register[Frozen](w, "frozen")
	_ = world.NewBundle[Unit](w).CreateN(w, 1000, func(i int, u *Unit) { u.Points = int64(i) })

	units := w.Query(world.Read[Health](w))
	_ = frozen.AddTo(units.Limit(300), nil)
	cold := w.Query(world.With[Frozen](w))
	fmt.Println(cold.Count(), units.Count())

	_ = cold.Remove(frozen)
	fmt.Println(cold.Count(), units.Count())
	// Output:
	// 300 1000
	// 0 1000
}

// What takes Parts takes components and bundles alike.
func ExampleComponentSet() {
	w := world.MustNew(world.Options{})
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	frozen := world.Register[Frozen](w, "frozen")
	movers, statues := world.NewBundle[Mover](w), world.NewBundle[Statue](w)
	_ = movers.CreateN(w, 3, nil)
	_ = statues.CreateN(w, 2, nil)

	_ = w.Query().Remove(frozen, movers) // the frozen, and all that movers have
	bare := w.Query(world.Without[Frozen](w), world.Without[Position](w), world.Without[Velocity](w))
	fmt.Println(bare.Count())
	// Output: 5
}

// A function that works whoever calls it, and whenever: at once by an idle World
// or in the entity's own shard, by request from anywhere else.
func ExampleActor() {
	w := world.MustNew(world.Options{})
	health := world.Register[Health](w, "health")
	frozen := world.Register[Frozen](w, "frozen")
	unit, _ := world.NewBundle[Unit](w).Create(w, Unit{Health{10}})

	petrify := func(by world.Actor, h handle.Handle) error {
		return errors.Join(health.Set(by, h, Health{1000}), frozen.Add(by, h, Frozen{}))
	}
	port, _ := w.OpenPort()
	fmt.Println(petrify(port, unit), w.Has(unit, frozen))
	w.Refresh()
	fmt.Println(w.Has(unit, frozen), *world.Read[Health](w).Get(unit))
	fmt.Println(petrify(w, handle.None))
	// Output:
	// <nil> false
	// true {1000}
	// world: entity is not alive
	// world: entity is not alive
}
