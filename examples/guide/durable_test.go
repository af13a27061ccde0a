package guide_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

type (
	// Savings is what a player owns. Last is the last request that was done, and Left its answer.
	Savings struct{ Coins, Last, Left uint64 }
	// Saver is a player with savings.
	Saver struct{ Savings }
	// Pay is a request of a client.
	Pay struct {
		Player        handle.Handle
		Number, Coins uint64
	}
)

var errPoor = errors.New("not so many coins")

// newBank makes a world in which players pay, and registers everything.
func newBank() (*world.World, *scheduler.Scheduler, *world.Bundle[Saver], *world.Transaction[Pay, uint64]) {
	w := world.MustNew(world.Options{VersionsEach: 10_000, TickInterval: time.Millisecond})
	savings := world.Register[Savings](w, "savings")
	pay := world.RegisterTransaction(w, "pay", func(tx *world.Tx, p Pay) (left uint64, err error) {
		own := savings.Edit(tx, p.Player)
		switch {
		case own == nil:
			return 0, world.ErrStale
		case p.Number <= own.Last:
			return own.Left, nil // it was done
		case own.Coins < p.Coins:
			return 0, errPoor
		}
		own.Coins, own.Last = own.Coins-p.Coins, p.Number
		own.Left = own.Coins
		return own.Left, nil
	})
	return w, scheduler.New(w, scheduler.Options{}), world.NewBundle[Saver](w), pay
}

func Example_durable() {
	ctx := context.Background()
	path, _ := os.MkdirTemp("", "guide")
	defer func() { _ = os.RemoveAll(path) }()

	w, s, savers, pay := newBank()
	var player handle.Handle
	store, err := durable.Open(ctx, path, w, s, durable.Options{
		Sync: true, // what anybody sees is on disk
		New: func(w *world.World) (err error) { // the first start
			player, err = savers.Create(w, Saver{Savings{Coins: 60}})
			return err
		},
	})
	fmt.Println(err, store.Recovered().New)

	go func() { // serves a client
		defer s.Stop()
		port, _ := w.OpenPort()
		defer port.Close()
		fmt.Println(pay.Ask(ctx, port, Pay{player, 1, 50})) // tell the client now
		fmt.Println(pay.Ask(ctx, port, Pay{player, 1, 50})) // it has asked again
	}()
	_ = s.Run(ctx)
	_ = s.Step(ctx) // the end of the port is in the world, too
	err = store.Close()

	w, s, _, _ = newBank() // the next start of the program
	store, _ = durable.Open(ctx, path, w, s, durable.Options{})
	fmt.Println(err, *world.Read[Savings](w).Get(player), store.Recovered().Clean)
	_ = store.Close()
	// Output:
	// <nil> true
	// 10 <nil>
	// 10 <nil>
	// <nil> {10 1 10} true
}

// backUp saves a backup. Another goroutine is in Run.
func backUp(s *scheduler.Scheduler, to *snapshot.Dir) error {
	var captured *snapshot.Captured
	var failed error
	err := <-s.Between(func(w *world.World) {
		captured, failed = snapshot.Capture(w, snapshot.Options{Scheduler: s})
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	defer captured.Release()
	_, err = to.SaveCaptured(captured)
	return err
}

// restore makes a directory from a backup. incarnation is above each Recovered.Incarnation of the
// world that it replaces: in doubt, take a larger number.
func restore(ctx context.Context, path string, from *snapshot.Dir, incarnation uint32) (*world.World, *durable.Store, error) {
	w, s, _, _ := newBank()
	store, err := durable.Open(ctx, path, w, s, durable.Options{New: func(w *world.World) error {
		if _, err := from.Load(w, snapshot.Options{Scheduler: s}); err != nil {
			return err
		}
		return w.Reincarnate(incarnation)
	}})
	return w, store, err
}

func Example_backup() {
	ctx := context.Background()
	path, _ := os.MkdirTemp("", "guide")
	defer func() { _ = os.RemoveAll(path) }()
	backups, empty := &snapshot.Dir{Path: filepath.Join(path, "backups")}, filepath.Join(path, "new")

	w, s, savers, _ := newBank()
	var player handle.Handle
	store, err := durable.Open(ctx, filepath.Join(path, "old"), w, s, durable.Options{
		New: func(w *world.World) (err error) {
			player, err = savers.Create(w, Saver{Savings{Coins: 7}})
			return err
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx) }()
	err = backUp(s, backups)
	s.Stop()
	err = errors.Join(err, <-ran, store.Close())

	w, store, failed := restore(ctx, empty, backups, store.Recovered().Incarnation+1)
	fmt.Println(err, failed, store.Recovered().New, world.Read[Savings](w).Get(player).Coins)
	_ = store.Close()
	// Output:
	// <nil> <nil> true 7
}
