package guide_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/atoll-sim/atoll/ext/async"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

type (
	// Wallet is what a player owns.
	Wallet struct{ Gold int }
	// Row is what the database has of a player.
	Row struct{ Gold int }
)

// find is a query of a database.
func find(_ context.Context, name string) (Row, error) {
	if name != "ada" {
		return Row{}, errors.New("no such player")
	}
	return Row{Gold: 7}, nil
}

func Example_asks() {
	path, _ := os.MkdirTemp("", "guide")
	defer func() { _ = os.RemoveAll(path) }()
	ctx := context.Background()
	type player struct{ Wallet }
	w := world.MustNew(world.Options{VersionsEach: 10_000})
	world.Register[Wallet](w, "wallet")
	players := world.NewBundle[player](w)
	s := scheduler.New(w, scheduler.Options{})
	told := 0

	loaded := world.RegisterMessage[async.Result[Row]](w, "loaded")
	load := async.New(w, "load", loaded, func(ctx context.Context, name string) (Row, error) {
		return find(ctx, name)
	}, async.Options{Rerun: true}) // it only reads
	s.MustAdd("loaded", func(b *world.Build) func(*world.Context) {
		in, wallets := world.Receive[async.Result[Row]](b), world.Write[Wallet](b)
		return func(*world.Context) {
			for _, m := range in.All() {
				if p := wallets.Get(m.To); p != nil && m.Body.Status == async.Done {
					p.Gold = m.Body.Value.Gold
				}
				fmt.Println(m.Body.Status)
				told++
			}
		}
	})

	store, err := durable.Open(ctx, path, w, s, durable.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	pool, err := async.Attach(w, async.PoolOptions{Workers: 8, Gate: store.Wait})
	if err != nil {
		fmt.Println(err)
		return
	}

	h, _ := players.Create(w, player{})
	_, _ = load.Go(w, h, "ada")
	for told == 0 {
		_ = s.Step(ctx)
		time.Sleep(time.Millisecond)
	}
	fmt.Println(world.Read[Wallet](w).Get(h).Gold)

	_ = pool.Close(ctx) // what runs may end; it does not wait for a tick
	_ = s.Step(ctx)     // its results are applied
	_ = store.Close()
	// Output:
	// Done
	// 7
}
