package durable_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// newSea makes an empty world of ships.
func newSea() (*world.World, *scheduler.Scheduler, *world.Bundle[fleet]) {
	w := world.MustNew(world.Options{VersionsEach: 10_000})
	world.Register[Ship](w, "ship")
	return w, scheduler.New(w, scheduler.Options{}), world.NewBundle[fleet](w)
}

// A world is kept while Run makes ticks, and is there again at the next start.
func ExampleStore() {
	path, _ := os.MkdirTemp("", "durable")
	defer func() { _ = os.RemoveAll(path) }()
	ctx, stop := context.WithCancel(context.Background())

	w, s, ships := newSea()
	store, err := durable.Open(ctx, path, w, s, durable.Options{Interval: time.Minute, Keep: 5})
	fmt.Println(err)
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()

	port, _ := w.OpenPort()
	var done world.Completion
	h, _ := ships.Create(port.Notify(&done), fleet{Ship{7}})
	_, _ = done.Wait(ctx)
	fmt.Println(store.Wait(ctx), store.Durable() > 0, store.Err()) // whatever happens now, the ship is there

	fmt.Println(store.Save(ctx)) // before an upgrade, say
	stop()
	fmt.Println(<-ended, store.Close())

	w, s, _ = newSea()
	store, err = durable.Open(context.Background(), path, w, s, durable.Options{})
	fmt.Println(err, world.Read[Ship](w).Get(h).N, store.Recovered().Incarnation)
	_ = store.Close()
	// Output:
	// <nil>
	// <nil> true <nil>
	// <nil>
	// <nil> <nil>
	// <nil> 7 2
}

// New fills the world at the first start. A directory is for one Store at a time.
func ExampleOpen() {
	path, _ := os.MkdirTemp("", "durable")
	defer func() { _ = os.RemoveAll(path) }()
	open := func() (*durable.Store, error) {
		w, s, ships := newSea()
		return durable.Open(context.Background(), path, w, s, durable.Options{
			New: func(w *world.World) error { return ships.CreateN(w, 3, nil) },
		})
	}
	store, err := open()
	fmt.Println(err, store.Recovered().New)
	_, err = open()
	fmt.Println(errors.Is(err, durable.ErrInUse), store.Close())

	store, err = open()
	fmt.Println(err, store.Recovered().New, store.Recovered().Snapshot.Info.Entities)
	_ = store.Close()
	// Output:
	// <nil> true
	// true <nil>
	// <nil> false 3
}

// What a newer version of a program would do with a directory is known before it is started.
func ExamplePlan() {
	path, _ := os.MkdirTemp("", "durable")
	defer func() { _ = os.RemoveAll(path) }()
	w, s, _ := newSea()
	store, _ := durable.Open(context.Background(), path, w, s, durable.Options{})
	_ = store.Close()

	w = world.MustNew(world.Options{VersionsEach: 10_000})
	world.Register[struct{ N float64 }](w, "ship") // was a uint64
	s = scheduler.New(w, scheduler.Options{})
	plan, err := durable.Plan(path, w, s, durable.Options{})
	fmt.Print(plan)
	fmt.Println(err)
	// Output:
	// refuses  component "ship", field N (uint64 → float64): does not hold each of its values: give a Migrated; Dropped("ship", "N") loses nothing
	// 1 differences, 1 refused
	// <nil>
}

// A server's own flag says what to do, after a crash, with what the build before has logged.
func ExampleOtherProgram() {
	var o durable.Options
	flags := flag.NewFlagSet("server", flag.ContinueOnError)
	flags.TextVar(&o.OtherProgram, "log", durable.RefuseOther, "ticks that another build has logged: refuse, replay or discard")
	_ = flags.Parse([]string{"-log", "replay"})
	fmt.Println(o.OtherProgram)
	// Output: replay
}

// A server starts with the number of shards that its machine calls for. If the process before died
// with another number, it finishes the log of that first.
func ExampleShardsError() {
	path, _ := os.MkdirTemp("", "durable")
	defer func() { _ = os.RemoveAll(path) }()
	open := func(shards int) (*durable.Store, *scheduler.Scheduler, error) {
		w := world.MustNew(world.Options{Shards: shards, VersionsEach: 10_000})
		world.Register[Ship](w, "ship")
		s := scheduler.New(w, scheduler.Options{})
		store, err := durable.Open(context.Background(), path, w, s, durable.Options{})
		return store, s, err
	}
	store, s, _ := open(4)
	_ = s.Step(context.Background())
	_ = store.Wait(context.Background())
	store.Crash() // the process dies

	store, _, err := open(16)
	var log *durable.ShardsError
	if errors.As(err, &log) {
		fmt.Println("a log of", log.Shards)
		if store, _, err = open(log.Shards); err == nil {
			err = store.Close()
		}
		if err == nil {
			store, _, err = open(16)
		}
	}
	fmt.Println(err, store.Recovered().Clean)
	_ = store.Close()
	// Output:
	// a log of 4
	// <nil> true
}

// A copy is made while the world runs. The day on which the world is lost, Open takes the copy over.
func ExampleFollow() {
	path, _ := os.MkdirTemp("", "durable")
	copied, _ := os.MkdirTemp("", "copy")
	defer func() { _ = errors.Join(os.RemoveAll(path), os.RemoveAll(copied)) }()
	w, s, ships := newSea()
	store, _ := durable.Open(context.Background(), path, w, s, durable.Options{})
	port, _ := w.OpenPort()
	h, _ := ships.Create(port, fleet{Ship{7}})
	_ = s.Step(context.Background())
	_ = store.Wait(context.Background())

	// A server calls store.Follow on a goroutine of its own, without Once, until it ends.
	err := durable.Follow(context.Background(), path, copied, durable.FollowOptions{
		Once: true, OnProgress: func(is durable.Followed) { fmt.Println("ticks", is.Tick, "behind", is.Ticks) },
	})
	fmt.Println(err)

	w, s, _ = newSea()
	other, err := durable.Open(context.Background(), copied, w, s, durable.Options{})
	fmt.Println(err, world.Read[Ship](w).Get(h).N, other.Recovered().Incarnation)
	_ = errors.Join(other.Close(), store.Close())
	// Output:
	// ticks 0 behind 1
	// ticks 1 behind 0
	// <nil>
	// <nil> 7 106
}
