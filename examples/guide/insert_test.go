package guide_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Spot and Guard are components of a camp.
type (
	Spot  struct{ X float64 }
	Guard struct{ Of handle.Handle }
)

// newZone makes the world of a zone, empty.
func newZone() (*world.World, *hierarchy.Relation, *scheduler.Scheduler) {
	w := world.MustNew(world.Options{})
	world.Register[Spot](w, "spot")
	world.Register[Guard](w, "guard")
	names.New[string](w, "places", names.Options{})
	return w, hierarchy.New(w, "in", hierarchy.Options{}), scheduler.New(w, scheduler.Options{})
}

// campFile returns a snapshot of a camp with an orc in it, who guards it.
func campFile() *bytes.Buffer {
	w, in, s := newZone()
	type orc struct {
		Spot
		Guard
	}
	camp, _ := world.NewBundle[struct{ Spot }](w).Create(w, struct{ Spot }{Spot{1}})
	guard, _ := world.NewBundle[orc](w).Create(w, orc{Spot{2}, Guard{camp}})
	_ = in.AddChild(w, camp, guard)
	_ = s.Step(context.Background())
	file := new(bytes.Buffer)
	_ = snapshot.Write(file, w, snapshot.Options{Scheduler: s})
	return file
}

func Example_insert() {
	file := campFile()
	w, in, s := newZone()

	zone, _, zs := newZone() // once, when the program starts
	err := snapshot.Load(file, zone, snapshot.Options{Scheduler: zs})
	piece, failed := snapshot.ExtractAll(zone, snapshot.ExtractOptions{})
	fmt.Println(errors.Join(err, failed), piece.Len())

	for i := range 2 {
		made, err := snapshot.Insert(w, piece, snapshot.InsertOptions{WithoutNames: true})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, h := range made.All() {
			world.Write[Spot](w).Get(h).X += float64(100 * i)
		}
		fmt.Println(made.Len(), made.Cut)
	}
	_ = s.Step(context.Background())

	guard := world.Read[Guard](w)
	for ch := range w.Query(guard).Chunks() {
		for i, h := range ch.Handles() {
			camp := guard.Slice(ch)[i].Of
			fmt.Println(world.Read[Spot](w).Get(h).X, "guards", world.Read[Spot](w).Get(camp).X, in.Read(w).Parent(h) == camp)
		}
	}
	// Output:
	// <nil> 2
	// 2 0
	// 2 0
	// 2 guards 1 true
	// 102 guards 101 true
}
