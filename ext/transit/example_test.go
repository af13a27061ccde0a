package transit_test

import (
	"context"
	"fmt"

	"github.com/atoll-sim/atoll/ext/transit"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

type (
	Hail    struct{ Text string }
	Captain struct{ Name string }
	sailor  struct{ Captain }
)

// sea is a world with a captain, who prints what is hailed.
func sea(number transit.World, name string) (w *world.World, s *scheduler.Scheduler, mail *transit.Mail[Hail], roads *transit.Roads, captain handle.Handle) {
	w = world.MustNew(world.Options{Shards: 1})
	captains := world.Register[Captain](w, "captain")
	hails := world.RegisterMessage[Hail](w, "hail")
	roads = transit.New(w, "roads", transit.Options{World: number})
	mail = transit.RegisterMail(roads, hails)
	s = scheduler.New(w, scheduler.Options{Workers: 1})
	s.MustAdd("hear", func(b *world.Build) func(*world.Context) {
		in, back := world.Receive[Hail](b), world.Receive[transit.Returned[Hail]](b)
		who := world.Read[Captain](b)
		_ = captains
		return func(c *world.Context) {
			for _, m := range in.All() {
				fmt.Printf("%s hears %q\n", who.Get(m.To).Name, m.Body.Text)
			}
			for _, m := range back.All() {
				fmt.Printf("%s gets %q back: %v\n", who.Get(m.To).Name, m.Body.Body.Text, m.Body.Why)
			}
		}
	})
	captain, _ = world.NewBundle[sailor](w).Create(w, sailor{Captain{name}})
	return w, s, mail, roads, captain
}

// carryFor carries between two worlds until each has nothing under way, and both have made a tick more.
func carryFor(a, b *transit.Roads, s ...*scheduler.Scheduler) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- transit.Carry(ctx, a, b) }()
	for rest := 3; rest > 0; {
		for _, s := range s {
			_ = s.Step(ctx)
		}
		if a.Channel(b.World()).Items+b.Channel(a.World()).Items == 0 {
			rest--
		}
	}
	cancel()
	for over := false; !over; {
		select {
		case err := <-done:
			over = err == nil
		default:
			for _, s := range s {
				_ = s.Step(context.Background())
			}
		}
	}
}

func ExampleNew() {
	_, east, mail, here, ahab := sea(1, "Ahab")
	_, west, _, there, nemo := sea(2, "Nemo")
	port, _ := east.World().OpenPort()
	fmt.Println(mail.Tell(port, ahab, there.Ref(nemo), Hail{"Ahoy!"}))
	_ = east.Step(context.Background())
	fmt.Println(here.Name(), here.World(), here.Peers(), here.Channel(2).Items)
	carryFor(here, there, east, west)
	// Output:
	// <nil>
	// roads 1 [2] 1
	// Nemo hears "Ahoy!"
}

func ExampleRegisterMail() {
	w, _, mail, roads, ahab := sea(1, "Ahab")
	nobody := transit.RefOf(2, handle.New(0, 7, 1))
	fmt.Println(mail.Tell(w, ahab, nobody, Hail{"Anybody?"}), mail.Tell(w, ahab, transit.Ref{}, Hail{}))
	for n, m := range mail.Waiting(2) {
		fmt.Println(n, m.To, m.Body.Text, roads.Options().Max)
	}
	// Output:
	// <nil> transit: that is no other world; use a Ref of Roads.Ref or RefOf, and Resolve with another world's number
	// 1 2/0:7@1 Anybody? 10000
}

// What cannot be delivered comes back.
func ExampleCarry() {
	w, east, mail, here, ahab := sea(1, "Ahab")
	other, west, _, there, nemo := sea(2, "Nemo")
	other.Destroy(nemo)
	other.Refresh()
	_ = mail.Tell(w, ahab, there.Ref(nemo), Hail{"Ahoy!"})
	carryFor(here, there, east, west)
	// Output:
	// Ahab gets "Ahoy!" back: Gone
}

func ExampleMail() {
	w, s, mail, roads, ahab := sea(1, "Ahab")
	_ = mail.Tell(w, ahab, roads.Ref(ahab), Hail{"to myself"})
	_ = s.Step(context.Background())
	// Output:
	// Ahab hears "to myself"
}

// The world that messages are under way to does not exist any more.
func ExampleRoads() {
	w, s, mail, roads, ahab := sea(1, "Ahab")
	_ = mail.Tell(w, ahab, transit.RefOf(2, ahab), Hail{"Ahoy!"})
	n, err := roads.Resolve(context.Background(), w, 2, transit.Return)
	fmt.Println(n, err)
	_ = s.Step(context.Background())
	_ = roads.Close(w)
	fmt.Println(roads.Done(), mail.Tell(w, ahab, transit.RefOf(2, ahab), Hail{"Ahoy!"}))
	// Output:
	// 1 <nil>
	// Ahab gets "Ahoy!" back: Resolved
	// true transit: the roads of this world are closed
}

func ExampleRefOf() {
	r := transit.RefOf(7, handle.New(3, 1047, 5))
	fmt.Println(r, r.World(), r.Handle(), transit.Ref{})
	// Output:
	// 7/3:1047@5 7 3:1047@5 none
}

func ExampleParseRef() {
	r, err := transit.ParseRef("7/3:1047@5")
	fmt.Println(r.World(), r.Handle(), err)
	_, err = transit.ParseRef("3:1047@5")
	fmt.Println(err)
	// Output:
	// 7 3:1047@5 <nil>
	// transit: this is no Ref; want a world's number and a handle, as in 7/3:1047@5, or none: "3:1047@5"
}

func ExampleRef() {
	friends := map[transit.Ref]string{transit.RefOf(7, handle.New(3, 1047, 5)): "Nemo"}
	fmt.Println(friends[transit.RefOf(7, handle.New(3, 1047, 5))], len(friends[transit.Ref{}]))
	b, _ := transit.RefOf(7, handle.New(3, 1047, 5)).MarshalBinary()
	var r transit.Ref
	fmt.Println(len(b), r.UnmarshalBinary(b))
	fmt.Println(r)
	text, _ := r.MarshalText()
	more, _ := r.AppendText(nil)
	bytes, _ := r.AppendBinary(nil)
	fmt.Println(string(text), string(more), len(bytes), r.UnmarshalText(text))
	// Output:
	// Nemo 0
	// 12 <nil>
	// 7/3:1047@5
	// 7/3:1047@5 7/3:1047@5 12 <nil>
}

type (
	Ticket struct{ Quay string }
	Cargo  struct{ Gold int }
	vessel struct{ Cargo }
)

// quay is a world in which ships arrive.
func quay(number transit.World) (w *world.World, s *scheduler.Scheduler, roads *transit.Roads, gate *transit.Gate[Ticket], ships *world.Bundle[vessel]) {
	w = world.MustNew(world.Options{Shards: 1})
	world.Register[Cargo](w, "cargo")
	roads = transit.New(w, "roads", transit.Options{World: number})
	gate = transit.RegisterGate[Ticket](roads, "harbour")
	s = scheduler.New(w, scheduler.Options{Workers: 1})
	s.MustAdd("quay", func(b *world.Build) func(*world.Context) {
		arrived, returned := world.Receive[transit.Arrived[Ticket]](b), world.Receive[transit.Returned[Ticket]](b)
		cargo := world.Read[Cargo](b)
		return func(*world.Context) {
			for _, m := range arrived.All() {
				fmt.Println("world", number, "has", m.Body.From, "at", m.Body.Body.Quay, "with", cargo.Get(m.To).Gold)
			}
			for _, m := range returned.All() {
				fmt.Println("world", number, "has it back:", m.Body.Why, "with", cargo.Get(m.To).Gold)
			}
		}
	})
	return w, s, roads, gate, world.NewBundle[vessel](w)
}

// A ship goes to another world.
func ExampleRegisterGate() {
	w, east, here, gate, ships := quay(1)
	_, west, there, _, _ := quay(2)
	ship, _ := ships.Create(w, vessel{Cargo{30}})
	fmt.Println(gate.Send(w, ship, 2, Ticket{"North"}))
	fmt.Println(here.Away(w, ship))
	fmt.Println(gate.Send(w, ship, 2, Ticket{"South"}))
	carryFor(here, there, east, west)
	fmt.Println(w.Alive(ship))
	// Output:
	// <nil>
	// 2 1 true
	// transit: the entity is away, on its way to another world; wait until it is back, or has arrived
	// world 2 has 1/0:0@1 at North with 30
	// false
}

// What another world refuses is back, and is what it was.
func ExampleGate() {
	w, east, here, gate, ships := quay(1)
	other, west, there, _, _ := quay(2)
	_ = there.Close(other)
	ship, _ := ships.Create(w, vessel{Cargo{30}})
	_ = gate.Send(w, ship, 2, Ticket{"North"})
	for n, x := range gate.Waiting(2) {
		fmt.Println(n, x.Root == ship, x.Body.Quay, x.Piece.Len())
	}
	carryFor(here, there, east, west)
	// Output:
	// 1 true North 1
	// world 1 has it back: Closed with 30
}
