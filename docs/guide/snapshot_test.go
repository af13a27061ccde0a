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
