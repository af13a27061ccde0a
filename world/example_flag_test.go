package world_test

import (
	"fmt"

	"github.com/atoll-sim/atoll/world"
)

// A connection sees from a handle alone whether its unit burns; a system looks for those
// that do.
func ExampleAddFlags() {
	const burning world.Flags = 1 << 0
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w)
	unit, _ := units.Create(w, Unit{Health{100}})
	_, _ = units.Create(w, Unit{Health{100}})

	port, _ := w.OpenPort()
	_ = world.AddFlags(port, unit, burning)
	fmt.Println("requested:", world.FlagsOf(port, unit)&burning != 0)
	w.Refresh()
	fmt.Println("refreshed:", world.FlagsOf(port, unit)&burning != 0)
	fmt.Println("burning:", w.Query(world.WithFlags(w, burning)).Count())
	// Output:
	// requested: false
	// refreshed: true
	// burning: 1
}

// Flags are bits that the game gives a meaning, a few for each entity. Any goroutine may read them
// at any time.
func ExampleFlags() {
	const (
		burning world.Flags = 1 << iota
		hidden
	)
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	unit, _ := world.NewBundle[Unit](w).Create(w, Unit{})

	_ = world.AddFlags(w, unit, burning|hidden)
	fmt.Println(world.FlagsOf(w, unit)&burning != 0, world.FlagsOf(w, unit) == burning|hidden)
	// Output: true true
}

// Until the refresh a port sees the flags as they were.
func ExampleFlagsOf() {
	const hidden world.Flags = 1
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	unit, _ := world.NewBundle[Unit](w).Create(w, Unit{})
	port, _ := w.OpenPort()

	_ = world.AddFlags(port, unit, hidden)
	fmt.Println(world.FlagsOf(port, unit), world.FlagsOf(w, unit))
	w.Refresh()
	fmt.Println(world.FlagsOf(port, unit), world.FlagsOf(w, unit))
	// Output:
	// 0 0
	// 1 1
}

// What is taken away are the bits that are named, and no others.
func ExampleRemoveFlags() {
	const burning, hidden world.Flags = 1, 2
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	unit, _ := world.NewBundle[Unit](w).Create(w, Unit{})

	_ = world.AddFlags(w, unit, burning|hidden)
	_ = world.RemoveFlags(w, unit, burning)
	fmt.Println(world.FlagsOf(w, unit) == hidden)
	// Output: true
}

// A query for those that have a flag.
func ExampleWithFlags() {
	const burning world.Flags = 1
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	all, _ := world.NewBundle[Unit](w).AppendN(nil, w, 100, nil)
	for _, h := range all[:30] {
		_ = world.AddFlags(w, h, burning)
	}
	fmt.Println(w.Query(world.Read[Health](w), world.WithFlags(w, burning)).Count())
	// Output: 30
}

// And for those that have none of several.
func ExampleWithoutFlags() {
	const burning, hidden world.Flags = 1, 2
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	all, _ := world.NewBundle[Unit](w).AppendN(nil, w, 100, nil)
	_ = world.AddFlags(w, all[0], burning)
	_ = world.AddFlags(w, all[1], hidden)
	fmt.Println(w.Query(world.WithoutFlags(w, burning|hidden)).Count())
	// Output: 98
}
