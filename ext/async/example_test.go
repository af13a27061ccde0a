package async_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/atoll-sim/atoll/ext/async"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Player is somebody whose row is loaded from a database.
type (
	Player struct{ Gold int }
	Row    struct{ Gold int }
	online struct{ Player }
)

// server is a world whose players are loaded outside.
type server struct {
	*world.World
	s       *scheduler.Scheduler
	players *world.Bundle[online]
	load    *async.Call[string, Row]
	told    int
}

func newServer(find func(ctx context.Context, name string) (Row, error), o async.Options) *server {
	w := world.MustNew(world.Options{Shards: 1, VersionsEach: 10_000})
	world.Register[Player](w, "player")
	x := &server{World: w, players: world.NewBundle[online](w)}
	loaded := world.RegisterMessage[async.Result[Row]](w, "loaded")
	x.load = async.New(w, "load", loaded, find, o)
	x.s = scheduler.New(w, scheduler.Options{})
	x.s.MustAdd("loaded", func(b *world.Build) func(*world.Context) {
		in, players := world.Receive[async.Result[Row]](b), world.Write[Player](b)
		return func(*world.Context) {
			for _, m := range in.All() {
				if p := players.Get(m.To); p != nil && m.Body.Status == async.Done {
					p.Gold = m.Body.Value.Gold
				}
				fmt.Println(m.Body.Status, m.Body.Value.Gold)
				x.told++
			}
		}
	})
	return x
}

// until makes ticks until so many results were told.
func (x *server) until(told int) {
	for x.told < told {
		_ = x.s.Step(context.Background())
		time.Sleep(time.Millisecond)
	}
}

// rows is a database.
func rows(_ context.Context, name string) (Row, error) {
	if name == "ada" {
		return Row{Gold: 7}, nil
	}
	return Row{}, errors.New("no such player")
}

func ExampleNew() {
	x := newServer(rows, async.Options{})
	pool, _ := async.Attach(x.World, async.PoolOptions{})
	h, _ := x.players.Create(x.World, online{})
	_, _ = x.load.Go(x.World, h, "ada")
	x.until(1)
	_, _ = x.load.Go(x.World, h, "bob")
	x.until(2)
	fmt.Println(world.Read[Player](x.World).Get(h).Gold)
	fmt.Println(pool.Close(context.Background()))
	// Output:
	// Done 7
	// Failed 0
	// 7
	// <nil>
}

// Without a Pool, as in a replay, nothing is run.
func ExampleCall_Go() {
	x := newServer(rows, async.Options{Ticks: 3})
	h, _ := x.players.Create(x.World, online{})
	id, err := x.load.Go(x.World, h, "ada")
	fmt.Println(id != async.None, err)
	x.until(1)
	fmt.Println(x.Tick())
	_, err = x.load.Go(x.World, handle.None, "ada")
	fmt.Println(errors.Is(err, world.ErrStale))
	// Output:
	// true <nil>
	// TimedOut 0
	// 4
	// true
}

func ExampleOptions() {
	x := newServer(rows, async.Options{Pending: 1})
	h, _ := x.players.Create(x.World, online{})
	_, _ = x.load.Go(x.World, h, "ada")
	_, err := x.load.Go(x.World, h, "ada")
	fmt.Println(err, x.load.Len())
	// Output:
	// async: the shard has Options.Pending asks under way 1
}

// Each ask has one Result, with the ID that Go has returned.
func ExampleResult() {
	x := newServer(rows, async.Options{})
	pool, _ := async.Attach(x.World, async.PoolOptions{Workers: 1})
	h, _ := x.players.Create(x.World, online{})
	id, _ := x.load.Go(x.World, h, "ada")
	pending := map[async.ID]string{id: "ada"}
	x.until(1)
	fmt.Println(pending[id], async.Done, async.TimedOut)
	_ = pool.Close(context.Background())
	// Output:
	// Done 7
	// ada Done TimedOut
}

// A server attaches a Pool when the world is restored, and closes it before the Store.
func ExampleAttach() {
	path, _ := os.MkdirTemp("", "async")
	defer func() { _ = os.RemoveAll(path) }()
	ctx := context.Background()
	x := newServer(rows, async.Options{Rerun: true})
	store, _ := durable.Open(ctx, path, x.World, x.s, durable.Options{})
	pool, err := async.Attach(x.World, async.PoolOptions{Workers: 4, Gate: store.Wait})
	fmt.Println(err)
	h, _ := x.players.Create(x.World, online{})
	_, _ = x.load.Go(x.World, h, "ada")
	x.until(1)
	fmt.Println(pool.Close(ctx), store.Close())
	// Output:
	// <nil>
	// Done 7
	// <nil> <nil>
}

// When its time is over, the contexts of what runs end.
func ExamplePool_Close() {
	begun := make(chan bool)
	x := newServer(func(ctx context.Context, _ string) (Row, error) {
		begun <- true
		<-ctx.Done()
		return Row{}, ctx.Err()
	}, async.Options{})
	pool, _ := async.Attach(x.World, async.PoolOptions{})
	h, _ := x.players.Create(x.World, online{})
	_, _ = x.load.Go(x.World, h, "ada")
	_ = x.s.Step(context.Background())
	<-begun
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	fmt.Println(pool.Close(ctx))
	fmt.Println(pool.Close(context.Background()))
	// Output:
	// context deadline exceeded
	// <nil>
}

func ExampleCall_Len() {
	x := newServer(rows, async.Options{})
	h, _ := x.players.Create(x.World, online{})
	_, _ = x.load.Go(x.World, h, "ada")
	x.Destroy(h)
	fmt.Println(x.load.Len())
	x.Refresh()
	fmt.Println(x.load.Len())
	// Output:
	// 1
	// 0
}
