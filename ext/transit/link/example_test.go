package link_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"

	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/ext/transit/link"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

type Hail struct{ Text string }

// station is a world whose shard 0 hears hails, and ends its ticks when it has.
func station(number transit.World) (w *world.World, s *scheduler.Scheduler, roads *transit.Roads, mail *transit.Mail[Hail]) {
	w = world.MustNew(world.Options{Shards: 1})
	hails := world.RegisterMessage[Hail](w, "hail")
	roads = transit.New(w, "roads", transit.Options{World: number})
	mail = transit.RegisterMail(roads, hails)
	s = scheduler.New(w, scheduler.Options{Workers: 1})
	s.MustAdd("hear", func(b *world.Build) func(*world.Context) {
		back := world.Receive[transit.Returned[Hail]](b)
		return func(*world.Context) {
			for _, m := range back.All() {
				fmt.Printf("world %d gets %q back: %v\n", number, m.Body.Body.Text, m.Body.Why)
				s.Stop()
			}
		}
	})
	return w, s, roads, mail
}

// Both processes are this one here.
func ExampleClient() {
	ctx, end := context.WithCancel(context.Background())
	_, east, here, _ := station(1)
	listener, _ := net.Listen("tcp", "127.0.0.1:0")
	server := link.NewServer(link.Options{}, here) // with Options.TLS, if others are to come
	served := make(chan error)
	go func() { served <- server.Serve(ctx, listener) }()
	go func() { _ = east.Run(ctx) }()

	w, west, there, mail := station(2)
	client, err := link.NewClient(listener.Addr().String(), link.Options{})
	if err != nil {
		panic(err)
	}
	carried := make(chan error)
	go func() { carried <- client.Carry(ctx, there, 1) }()
	nobody, _ := transit.ParseRef("1/0:7@1")
	_ = mail.Tell(w, 0, nobody, Hail{"Anybody?"})
	fmt.Println(west.Run(ctx), client.Err())
	end()
	fmt.Println(<-served, <-carried)
	// Output:
	// world 2 gets "Anybody?" back: Gone
	// <nil> <nil>
	// <nil> <nil>
}

func ExampleServer() {
	_, _, roads, _ := station(1)
	server := link.NewServer(link.Options{})
	server.Add(roads) // when the world is ready
	server.Remove(roads)
	all, _ := net.Listen("tcp", ":0")
	fmt.Println(errors.Is(server.Serve(context.Background(), all), link.ErrClear))
	// Output: true
}

func ExampleNewServer() {
	_, _, paris, _ := station(1)
	_, _, rome, _ := station(2)
	ctx, end := context.WithCancel(context.Background())
	end()
	listener, _ := net.Listen("tcp", "127.0.0.1:0")
	fmt.Println(link.NewServer(link.Options{}, paris, rome).Serve(ctx, listener))
	// Output: <nil>
}

func ExampleNewClient() {
	_, err := link.NewClient("192.0.2.7:7000", link.Options{})
	fmt.Println(err)
	// Output:
	// link: without TLS only loopback addresses are allowed; set Options.TLS; the address is 192.0.2.7:7000
}

func ExampleNamed() {
	cert := &x509.Certificate{DNSNames: []string{"eu1.example", "world-7.eu1.example"}}
	fmt.Println(link.Named(cert, 7), link.Named(cert, 77))
	// Output: true false
}
