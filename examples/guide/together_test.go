package guide_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

type (
	Purse    struct{ Gold, Crates int }
	Merchant struct{ Purse }
	Deal     struct {
		Buyer, Seller handle.Handle
		Crates, Gold  int
	}
)

var errNoDeal = errors.New("they have less than that")

func Example_together() {
	w := world.MustNew(world.Options{TickInterval: time.Millisecond})
	purse := world.Register[Purse](w, "purse")
	merchants := world.NewBundle[Merchant](w)
	ann, _ := merchants.Create(w, Merchant{Purse{Gold: 100}})
	bob, _ := merchants.Create(w, Merchant{Purse{Crates: 5}})
	s := scheduler.New(w, scheduler.Options{})

	trade := world.RegisterTransaction(w, "trade", func(tx *world.Tx, d Deal) (left Purse, err error) {
		buyer, seller := purse.Edit(tx, d.Buyer), purse.Edit(tx, d.Seller)
		if buyer == nil || seller == nil {
			return left, world.ErrStale
		}
		buyer.Gold, buyer.Crates = buyer.Gold-d.Gold, buyer.Crates+d.Crates
		seller.Gold, seller.Crates = seller.Gold+d.Gold, seller.Crates-d.Crates
		if d.Gold < 0 || d.Crates < 0 || buyer.Gold < 0 || seller.Crates < 0 {
			return left, errNoDeal // and nothing has happened
		}
		return *buyer, nil
	})

	ctx := context.Background()
	go func() {
		defer s.Stop()
		port, _ := w.OpenPort()
		defer port.Close()
		fmt.Println(trade.Ask(ctx, port, Deal{ann, bob, 3, 30}))
		fmt.Println(trade.Ask(ctx, port, Deal{ann, bob, 3, 30})) // bob has two left
	}()
	_ = s.Run(ctx)
	of := world.Read[Purse](w)
	fmt.Println(*of.Get(ann), *of.Get(bob))
	// Output:
	// {70 3} <nil>
	// {0 0} they have less than that
	// {70 3} {30 2}
}

type (
	// Stock is how much of something there is in one place.
	Stock struct{ Iron, Coal, Swords int }
	Store struct{ Stock }
	// Order is who asks for how much.
	Order struct {
		Member handle.Handle
		N      int
	}
)

var errNotYours = errors.New("only a member may")

func Example_guild() {
	w := world.MustNew(world.Options{})
	stock := world.Register[Stock](w, "stock")
	stores := world.NewBundle[Store](w)
	guilds := hierarchy.New(w, "guilds", hierarchy.Options{})
	guild, _ := stores.Create(w, Store{Stock{Iron: 10}})
	ada, _ := stores.Create(w, Store{Stock{Coal: 3}})
	eve, _ := stores.Create(w, Store{})
	_ = guilds.AddChild(w, guild, ada)

	withdraw := world.RegisterTransaction(w, "withdraw", func(tx *world.Tx, o Order) (left int, err error) {
		member := stock.Edit(tx, o.Member)
		bank := stock.Edit(tx, guilds.Read(tx).Parent(o.Member))
		switch {
		case member == nil || bank == nil:
			return 0, errNotYours
		case o.N < 0 || bank.Iron < o.N:
			return 0, errNoDeal
		}
		bank.Iron -= o.N
		member.Iron += o.N
		return bank.Iron, nil
	})
	craft := world.RegisterTransaction(w, "craft", func(tx *world.Tx, who handle.Handle) (Stock, error) {
		if _, err := withdraw.Run(tx, Order{who, 4}); err != nil { // a part of this one
			return Stock{}, err
		}
		s := stock.Edit(tx, who)
		s.Iron, s.Coal, s.Swords = s.Iron-4, s.Coal-2, s.Swords+1
		if s.Coal < 0 {
			return Stock{}, errNoDeal // and the iron is in the bank again
		}
		return *s, nil
	})

	port, _ := w.OpenPort()
	var first, second, third world.Answer[Stock]
	_ = craft.Send(port, ada, &first)
	_ = craft.Send(port, ada, &second)
	_ = craft.Send(port, eve, &third)
	w.Refresh()
	for _, answer := range []*world.Answer[Stock]{&first, &second, &third} {
		fmt.Println(answer.Get(context.Background()))
	}
	fmt.Println(*world.Read[Stock](w).Get(guild))
	// Output:
	// {0 1 1} <nil>
	// {0 0 0} they have less than that
	// {0 0 0} only a member may
	// {6 0 0}
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
