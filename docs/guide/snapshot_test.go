package guide_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// newGame makes the world of a server, empty.
func newGame() (*world.World, *world.Bundle[Ship], *scheduler.Scheduler) {
	w, ships := newSea()
	s := scheduler.New(w, scheduler.Options{})
	s.MustAdd("sail", Sail)
	return w, ships, s
}

func Example_snapshot() {
	path, _ := os.MkdirTemp("", "guide")
	defer func() { _ = os.RemoveAll(path) }()

	w, ships, s := newGame()
	h, _ := ships.Create(w, Ship{Velocity: Velocity{1, 0}})
	_ = s.Step(context.Background())

	dir := snapshot.Dir{Path: path, Keep: 5}
	_, err := dir.Save(w, snapshot.Options{Scheduler: s})
	fmt.Println(err)

	w, ships, s = newGame() // the next start of the program
	found, err := dir.Load(w, snapshot.Options{Scheduler: s})
	for _, passed := range found.Passed {
		fmt.Println("damaged:", passed)
	}
	_ = s.Step(context.Background())
	fmt.Println(err, w.Tick(), world.Read[Position](w).Get(h).X)
	_ = ships
	// Output:
	// <nil>
	// <nil> 2 0.1
}

func Example_capture() {
	path, _ := os.MkdirTemp("", "guide")
	defer func() { _ = os.RemoveAll(path) }()
	dir := snapshot.Dir{Path: path}
	w, ships, s := newGame()
	_, _ = ships.Create(w, Ship{})
	go func() { _ = s.Run(context.Background()) }()
	defer s.Stop()

	var failed error
	var captured *snapshot.Captured
	err := <-s.Between(func(w *world.World) {
		captured, failed = snapshot.Capture(w, snapshot.Options{Scheduler: s})
	})
	if err = errors.Join(err, failed); err == nil {
		_, err = dir.Write(captured)
		captured.Release()
	}
	found, _ := dir.Newest()
	fmt.Println(err, found.Info.Entities)
	// Output:
	// <nil> 1
}

func Example_fork() {
	w, ships, s := newGame()
	h, _ := ships.Create(w, Ship{Velocity: Velocity{1, 0}})
	_ = s.Step(context.Background())

	captured, err := snapshot.Capture(w, snapshot.Options{Scheduler: s})
	for _, speed := range []float64{2, 4} {
		w, _, s := newGame()
		err = errors.Join(err, captured.Load(w, snapshot.Options{Scheduler: s}))
		world.Write[Velocity](w).Get(h).X = speed
		for range 20 {
			_ = s.Step(context.Background())
		}
		fmt.Printf("at speed %v it comes to %.2f\n", speed, world.Read[Position](w).Get(h).X)
	}
	captured.Release()
	fmt.Println(err, "it is at", world.Read[Position](w).Get(h).X)
	// Output:
	// at speed 2 it comes to 2.05
	// at speed 4 it comes to 4.05
	// <nil> it is at 0.05
}

func Example_back() {
	w, ships, s := newGame()
	h, _ := ships.Create(w, Ship{Velocity: Velocity{1, 0}})

	var ring []*snapshot.Captured // the last ticks, the oldest first
	for range 5 {
		if len(ring) == w.Options().FramesMax {
			ring[0].Release()
			ring = ring[1:]
		}
		captured, _ := snapshot.Capture(w, snapshot.Options{Scheduler: s})
		ring = append(ring, captured)
		_ = s.Step(context.Background())
	}
	fmt.Println(w.Tick(), world.Read[Position](w).Get(h).X)

	// A packet comes late: the ship has turned two ticks ago.
	now, old := w.Tick(), w
	w, _, s = newGame()
	err := ring[len(ring)-2].Load(w, snapshot.Options{Scheduler: s})
	old.Close()
	world.Write[Velocity](w).Get(h).X = -1
	for w.Tick() < now {
		_ = s.Step(context.Background())
	}
	fmt.Printf("%d %.2f %v\n", w.Tick(), world.Read[Position](w).Get(h).X, err)
	// Output:
	// 5 0.25
	// 5 0.05 <nil>
}
