package guide_test

import (
	"context"
	"fmt"

	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

type (
	Say   struct{ Text string } // to who says it
	Heard struct {
		From handle.Handle
		Text string
	}
	Talker struct {
		Position
		Client
	}
)

// Speak sends what somebody says to all within earshot.
func Speak(talkers *near.Index, heard *world.Message[Heard]) scheduler.System {
	return func(b *world.Build) func(*world.Context) {
		said, pos, around := world.Receive[Say](b), world.Read[Position](b), talkers.Read(b)
		var hits []near.Hit
		return func(c *world.Context) {
			for _, m := range said.All() {
				p := pos.Get(m.To)
				if p == nil {
					continue
				}
				hits = around.AppendWithin(hits[:0], near.Point{X: p.X, Y: p.Y}, 50)
				for _, hit := range hits {
					_ = heard.Send(c, hit.Handle, Heard{m.To, m.Body.Text})
				}
			}
		}
	}
}

// Hear passes on what is heard to the connections.
func Hear(b *world.Build) func(*world.Context) {
	heard, client := world.Receive[Heard](b), world.Read[Client](b)
	return func(*world.Context) {
		for _, m := range heard.All() {
			if to := client.Get(m.To); to != nil {
				select {
				case to.Lines <- fmt.Sprint(m.Body.From, ": ", m.Body.Text):
				default: // nobody reads, and a system waits for nobody
				}
			}
		}
	}
}

func Example_chat() {
	w := world.MustNew(world.Options{})
	world.Register[Position](w, "position")
	world.Register[Client](w, "client")
	talkers := world.NewBundle[Talker](w)

	say, heard := world.RegisterMessage[Say](w, "say"), world.RegisterMessage[Heard](w, "heard")
	index := near.New(w, func(p Position) near.Point { return near.Point{X: p.X, Y: p.Y} },
		near.Options{Max: near.Point{X: 1000, Y: 1000}, Cell: 50}, world.With[Client](w))
	s := scheduler.New(w, scheduler.Options{})
	s.MustAdd("speak", Speak(index, heard))
	s.MustAdd("hear", Hear)

	var hs []handle.Handle
	var clients []Client
	for i := range 3 {
		clients = append(clients, Client{make(chan string, 16)})
		talkers.PlaceBy(func(Talker) int { return i }) // each in a shard of its own
		h, _ := talkers.Create(w, Talker{Position{X: float64(40 * i)}, clients[i]})
		hs = append(hs, h)
	}
	port, _ := w.OpenPort()
	_ = say.Send(port, hs[0], Say{"ahoy"})
	for range 3 {
		_ = s.Step(context.Background())
	}
	for i, c := range clients {
		select {
		case line := <-c.Lines:
			fmt.Println(i, "hears", line)
		default:
			fmt.Println(i, "hears nothing")
		}
	}
	// Output:
	// 0 hears 0:0@1: ahoy
	// 1 hears 0:0@1: ahoy
	// 2 hears nothing
}
