package guide_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"

	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/ext/transit/link"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

type (
	// Vault is what somebody has in a town.
	Vault struct{ Gold int }
	// Payment goes from one town to another.
	Payment struct{ Gold int }
	// Transfer says whom to pay, and how much.
	Transfer struct {
		From handle.Handle
		To   transit.Ref
		Gold int
	}
	citizen struct{ Vault }
)

// banking is a world of citizens who pay others in other worlds.
type banking struct {
	w        *world.World
	s        *scheduler.Scheduler
	roads    *transit.Roads
	payment  *world.Message[Payment]
	payments *transit.Mail[Payment]
	pay      *world.Transaction[Transfer, struct{}]
	citizens *world.Bundle[citizen]
}

func newBanking(number transit.World) banking {
	w := world.MustNew(world.Options{Shards: 2})
	vaults := world.Register[Vault](w, "vault")
	s := scheduler.New(w, scheduler.Options{Workers: 1})

	roads := transit.New(w, "roads", transit.Options{World: number})
	payment := world.RegisterMessage[Payment](w, "payment")
	payments := transit.RegisterMail(roads, payment)
	pay := world.RegisterTransaction(w, "pay", func(tx *world.Tx, o Transfer) (struct{}, error) {
		from := vaults.Edit(tx, o.From)
		if from == nil || from.Gold < o.Gold {
			return struct{}{}, world.ErrRefused
		}
		from.Gold -= o.Gold
		return struct{}{}, payments.Tell(tx, o.From, o.To, Payment{o.Gold})
	})
	s.MustAdd("payments", func(b *world.Build) func(*world.Context) {
		in, back := world.Receive[Payment](b), world.Receive[transit.Returned[Payment]](b)
		vaults := world.Write[Vault](b)
		return func(c *world.Context) {
			for _, m := range in.All() {
				if x := vaults.Get(m.To); x != nil {
					x.Gold += m.Body.Gold
					fmt.Println("world", number, "has got", m.Body.Gold)
				}
			}
			for _, m := range back.All() {
				if x := vaults.Get(m.To); x != nil {
					x.Gold += m.Body.Body.Gold
					fmt.Println("world", number, "has got back", m.Body.Body.Gold, m.Body.Why)
				}
			}
		}
	})

	return banking{w, s, roads, payment, payments, pay, world.NewBundle[citizen](w)}
}

func Example_worlds() {
	paris, rome := newBanking(1), newBanking(2)
	anna, _ := paris.citizens.Create(paris.w, citizen{Vault{100}})
	bruno, _ := rome.citizens.Create(rome.w, citizen{})
	nobody := transit.RefOf(2, handle.New(0, 99, 1))
	_, _ = paris.pay.Run(paris.w, Transfer{anna, rome.roads.Ref(bruno), 30})
	_, _ = paris.pay.Run(paris.w, Transfer{anna, nobody, 20})

	ctx, cancel := context.WithCancel(context.Background())
	carried := make(chan error)
	go func() { carried <- transit.Carry(ctx, paris.roads, rome.roads) }()

	for paris.roads.Channel(2).Items > 0 {
		_ = paris.s.Step(ctx)
		_ = rome.s.Step(ctx)
	}
	_ = paris.s.Step(ctx)
	cancel()
	paris.w.Close() // whatever Carry waits for ends
	rome.w.Close()
	<-carried
	// Output:
	// world 2 has got 30
	// world 1 has got back 20 Gone
}

// serveWorlds has the worlds of a process reached by others.
func serveWorlds(ctx context.Context, mine tls.Certificate, ours *x509.CertPool, paris *transit.Roads) error {
	options := link.Options{TLS: &tls.Config{Certificates: []tls.Certificate{mine}, RootCAs: ours}}
	listener, err := net.Listen("tcp", ":7000")
	if err != nil {
		return err
	}
	return link.NewServer(options, paris).Serve(ctx, listener)
}

// dialWorlds carries between a world of this process and world 1 of another.
func dialWorlds(ctx context.Context, options link.Options, rome *transit.Roads) error {
	client, err := link.NewClient("eu1.example:7000", options)
	if err != nil {
		return err
	}
	return client.Carry(ctx, rome, 1)
}

func Example_link() {
	rome := newBanking(2)
	if serveWorlds(context.Background(), tls.Certificate{}, nil, rome.roads) != nil { // that is no certificate
		fmt.Println(dialWorlds(context.Background(), link.Options{}, rome.roads))
	}
	// Output:
	// link: without TLS only loopback addresses are allowed; set Options.TLS; the address is eu1.example:7000
}

func (x banking) money(others ...banking) (sum int) {
	vaults := world.Read[Vault](x.w)
	for ch := range x.w.Query(vaults).Chunks() {
		for _, v := range vaults.Slice(ch) {
			sum += v.Gold
		}
	}
	for m := range x.payment.Waiting() {
		sum += m.Body.Gold
	}
	for m := range x.payments.Returned.Waiting() {
		sum += m.Body.Body.Gold
	}
	for _, y := range others {
		for _, m := range x.payments.Unaccepted(y.roads) {
			sum += m.Body.Gold
		}
	}
	return sum
}

func Example_audit() {
	paris, rome := newBanking(1), newBanking(2)
	anna, _ := paris.citizens.Create(paris.w, citizen{Vault{100}})
	bruno, _ := rome.citizens.Create(rome.w, citizen{Vault{100}})
	_, _ = paris.pay.Run(paris.w, Transfer{anna, rome.roads.Ref(bruno), 30})

	ctx, cancel := context.WithCancel(context.Background())
	go func() { _ = paris.s.Run(ctx) }()
	go func() { _ = rome.s.Run(ctx) }()
	sum := 0
	err := transit.Cut(ctx, func() error {
		return errors.Join(
			<-paris.s.Between(func(*world.World) { sum += paris.money(rome) }),
			<-rome.s.Between(func(*world.World) { sum += rome.money(paris) }))
	}, paris.roads, rome.roads)
	cancel()
	fmt.Println(sum, err)
	// Output:
	// 200 <nil>
}
