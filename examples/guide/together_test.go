package guide_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

type (
	Purse    struct{ Gold, Crates int }
	Merchant struct{ Purse }

	Exchange = world.Question[Purse, bool]
)

// buy buys crates for gold.
func buy(port *world.Port, exchange *Exchange, buyer, seller handle.Handle, crates, gold int) (bool, error) {
	if paid, err := ask(port, exchange, buyer, Purse{Gold: -gold}); !paid {
		return false, err // nothing has happened
	}
	sold, err := ask(port, exchange, seller, Purse{Gold: gold, Crates: -crates})
	due := Purse{Gold: gold} // back
	if sold {
		due = Purse{Crates: crates}
	}
	_, lost := ask(port, exchange, buyer, due)
	return sold, errors.Join(err, lost)
}

func ask(port *world.Port, exchange *Exchange, of handle.Handle, by Purse) (bool, error) {
	ctx := context.Background() // one that ends would leave open what has happened
	var done world.Answer[bool]
	if err := exchange.Ask(port.Within(ctx), of, by, &done); err != nil {
		return false, err
	}
	return done.Get(ctx)
}

func Example_together() {
	w := world.MustNew(world.Options{TickInterval: time.Millisecond})
	purse := world.Register[Purse](w, "purse")
	merchants := world.NewBundle[Merchant](w)
	ann, _ := merchants.Create(w, Merchant{Purse{Gold: 100}})
	bob, _ := merchants.Create(w, Merchant{Purse{Crates: 5}})
	s := scheduler.New(w, scheduler.Options{})

	exchange := world.RegisterQuestion(w, "exchange", func(self *world.EntityContext, by Purse) bool {
		p := purse.Write(self)
		if p == nil || p.Gold+by.Gold < 0 || p.Crates+by.Crates < 0 {
			return false
		}
		p.Gold += by.Gold
		p.Crates += by.Crates
		return true
	})

	go func() {
		defer s.Stop()
		port, _ := w.OpenPort()
		defer port.Close()
		fmt.Println(buy(port, exchange, ann, bob, 3, 30))
		fmt.Println(buy(port, exchange, ann, bob, 3, 30)) // bob has two left
	}()
	_ = s.Run(context.Background())
	of := world.Read[Purse](w)
	fmt.Println(*of.Get(ann), *of.Get(bob))
	// Output:
	// true <nil>
	// false <nil>
	// {70 3} {30 2}
}

type (
	Client struct{ Lines chan string }
	Guest  struct {
		Hull
		Client
	}
)

// Inform tells each client of its hull.
func Inform(b *world.Build) func(*world.Context) {
	client, hull := world.Read[Client](b), world.Read[Hull](b)
	guests := b.Query(client, hull)
	return func(c *world.Context) {
		for ch := range guests.Chunks() {
			to, points := client.Slice(ch), hull.Slice(ch)
			for i := range to {
				select {
				case to[i].Lines <- fmt.Sprint("hull ", points[i].Points):
				default: // nobody reads, and a system waits for nobody
					_ = c.Destroy(ch.Handle(i))
				}
			}
		}
	}
}

// HangUp is the hook that tells clients that there will be nothing more.
func HangUp(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
	client := world.Read[Client](b)
	return func(_ *world.Context, _ world.Event, dead []handle.Handle) {
		for _, h := range dead {
			close(client.Get(h).Lines)
		}
	}
}

// connection is what the goroutine of a connection does.
func connection(ctx context.Context, port *world.Port, guests *world.Bundle[Guest]) error {
	client := Client{make(chan string, 16)}
	var born world.Completion
	me, err := guests.Create(port.Notify(&born), Guest{Hull{100}, client})
	if err != nil {
		return err
	}
	if outcome, err := born.Wait(ctx); outcome != world.Applied {
		return errors.Join(err, fmt.Errorf("no guest: %v", outcome)) // and nobody will close Lines
	}
	fmt.Println(<-client.Lines)
	if err := port.Within(ctx).Destroy(me); err != nil { // the connection ends
		return err
	}
	for range client.Lines { // until it is closed
	}
	return nil
}

func Example_connection() {
	w := world.MustNew(world.Options{TickInterval: time.Millisecond})
	world.Register[Hull](w, "hull")
	client := world.Register[Client](w, "client")
	guests := world.NewBundle[Guest](w)
	s := scheduler.New(w, scheduler.Options{})
	ctx := context.Background()
	w.Observe("hang up", world.OnDestroy, HangUp, client)
	s.MustAdd("inform", Inform)

	gone := make(chan struct{})
	go func() {
		defer close(gone)
		port, _ := w.OpenPort()
		defer port.Close()
		fmt.Println(connection(ctx, port, guests))
		s.Stop()
	}()
	_ = s.Run(ctx)
	<-gone
	// Output:
	// hull 100
	// <nil>
}

// Look counts for each ship those near it.
func Look(index *near.Index) func(*world.Build) func(*world.Context) {
	return func(b *world.Build) func(*world.Context) {
		around, pos, crowd := index.Read(b), world.Read[Position](b), world.Write[Crowd](b)
		fleet := b.Query(pos, crowd)
		var hits []near.Hit // used again for each ship
		return func(*world.Context) {
			for ch := range fleet.Chunks() {
				p, ships := pos.Slice(ch), crowd.Slice(ch)
				for i := range p {
					hits = around.AppendWithin(hits[:0], near.Point{X: p[i].X, Y: p[i].Y}, 50)
					ships[i].Ships = len(hits)
				}
			}
		}
	}
}

type (
	// Crowd is how many ships are near, this one among them.
	Crowd   struct{ Ships int }
	Lookout struct {
		Position
		Crowd
	}
)

func Example_near() {
	w := world.MustNew(world.Options{})
	world.Register[Position](w, "position")
	world.Register[Crowd](w, "crowd")
	lookouts := world.NewBundle[Lookout](w)
	lookouts.PlaceBy(func(l Lookout) int { return part(l.X, w.Shards()) })
	here, _ := lookouts.Create(w, Lookout{Position: Position{90, 0}})
	_, _ = lookouts.Create(w, Lookout{Position: Position{110, 0}}) // in another shard
	_, _ = lookouts.Create(w, Lookout{Position: Position{190, 0}})

	index := near.New(w, func(p Position) near.Point { return near.Point{X: p.X, Y: p.Y} },
		near.Options{Max: near.Point{X: 1000, Y: 1000}, Cell: 50})
	s := scheduler.New(w, scheduler.Options{})
	s.MustAdd("look", Look(index))
	_ = s.Step(context.Background())
	fmt.Println(world.Read[Crowd](w).Get(here).Ships, "ships near")
	// Output:
	// 2 ships near
}
