package world_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Link names another entity.
type Link struct{ To handle.Handle }

// Three calls, each of which is one record in the port's queue.
func ExamplePort_DestroyN() {
	w := world.MustNew(world.Options{})
	health := world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w)
	port, _ := w.OpenPort()
	defer port.Close()

	squad, _ := units.AppendN(nil, port, 4, nil)
	_ = health.SetN(port, squad, []Health{{1}, {2}, {3}, {4}})
	_ = port.DestroyN(squad[:2])
	w.Refresh()
	fmt.Println(w.Count(), world.Read[Health](w).Get(squad[3]).Points)

	var done world.Completion
	_ = port.Notify(&done).DestroyN(squad)
	w.Refresh()
	fmt.Println(w.Count(), done.Outcome(), "was the first, the last two died")
	// Output:
	// 2 4
	// 0 gone was the first, the last two died
}

// A client that floods the server fills its own small queue; the operator's has room.
func ExamplePortOptions() {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w)
	client, _ := w.OpenPort(world.PortOptions{QueueRequests: 2})
	operator, _ := w.OpenPort()

	for range 3 {
		_, err := units.Create(client, Unit{})
		fmt.Println(err)
	}
	_, err := units.Create(operator, Unit{})
	fmt.Println(err)
	// Output:
	// <nil>
	// <nil>
	// world: queue is full until the next refresh
	// <nil>
}

// Many requests in one step: all of them are accepted, or none.
func ExamplePort_Batch() {
	w := world.MustNew(world.Options{QueueRequests: 4})
	health := world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w)
	port, _ := w.OpenPort()
	defer port.Close()

	pair := func() error {
		for range 2 {
			unit, err := units.Create(port, Unit{})
			if err != nil {
				return err
			}
			if err := health.Set(port, unit, Health{7}); err != nil {
				return err
			}
		}
		return nil
	}
	fmt.Println(port.Batch(pair), port.Waiting())
	fmt.Println(port.Batch(pair), port.Waiting())
	w.Refresh()
	fmt.Println(w.Count())
	// Output:
	// <nil> 4
	// world: queue is full until the next refresh 4
	// 2
}

// A request may wait for room in a full queue, for as long as its context lets it.
func ExamplePort_Within() {
	w := world.MustNew(world.Options{QueueRequests: 1})
	world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w)
	port, _ := w.OpenPort()
	defer port.Close()

	_, err := units.Create(port, Unit{})
	fmt.Println(err)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = units.Create(port.Within(ended), Unit{})
	fmt.Println(err)
	w.Refresh()
	_, err = units.Create(port.Within(ended), Unit{})
	fmt.Println(err)
	// Output:
	// <nil>
	// context canceled
	// <nil>
}

// Entities that name each other are created in one batch: each create gives the
// handle at once, and the refresh that creates one creates all.
func ExamplePort_Batch_link() {
	type Pair struct {
		Link
		Health
	}
	w := world.MustNew(world.Options{})
	link := world.Register[Link](w, "link")
	world.Register[Health](w, "health")
	pairs := world.NewBundle[Pair](w)
	port, _ := w.OpenPort()
	defer port.Close()

	var a, b handle.Handle
	err := port.Batch(func() error {
		a, _ = pairs.Create(port, Pair{})
		b, _ = pairs.Create(port, Pair{Link: Link{a}})
		return link.Set(port, a, Link{b}) // fails if one of the creates did
	})
	w.Refresh()

	links := world.Read[Link](w)
	fmt.Println(err, links.Get(a).To == b, links.Get(b).To == a)
	// Output: <nil> true true
}

// The outcome of a request together with something else.
func ExampleCompletion_Done() {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w)
	port, _ := w.OpenPort()
	defer port.Close()

	var created world.Completion
	_, _ = units.Create(port.Notify(&created), Unit{})
	hangup := make(chan struct{})
	w.Refresh()
	select {
	case <-created.Done():
		fmt.Println(created.Outcome())
	case <-hangup:
		fmt.Println("gone")
	}
	// Output: applied
}

// A function runs on the entity's shard, in its place among the requests. One that
// panics is told to its sender, and to who ticks.
func ExampleFunc() {
	type Damage struct{ Points int64 }
	w := world.MustNew(world.Options{})
	health := world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w)
	wound := world.RegisterFunc(w, "wound", func(self *world.EntityContext, d Damage) {
		h := health.Write(self)
		if h.Points -= d.Points; h.Points <= 0 {
			_ = self.Destroy(self.Handle())
		}
	})
	unit, _ := units.Create(w, Unit{Health{10}})

	port, _ := w.OpenPort()
	defer port.Close()
	var first, second, third world.Completion
	_ = wound.Call(port.Notify(&first), unit, Damage{4})
	_ = wound.Call(port.Notify(&second), unit, Damage{7})
	_ = wound.Call(port.Notify(&third), unit, Damage{1})
	w.Refresh()
	fmt.Println(first.Outcome(), second.Outcome(), third.Outcome(), port.Status(unit), w.Failure())
	// Output: applied applied gone stale <nil>
}

// A question is a function that returns something: who asks gets the answer when
// the refresh is done.
func ExampleQuestion() {
	w := world.MustNew(world.Options{})
	health := world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w)
	spend := world.RegisterQuestion(w, "spend", func(self *world.EntityContext, n int64) error {
		h := health.Write(self)
		if h.Points < n {
			return errors.New("not enough")
		}
		h.Points -= n
		return nil
	})
	unit, _ := units.Create(w, Unit{Health{10}})

	port, _ := w.OpenPort()
	defer port.Close()
	var first, second world.Answer[error]
	var left world.Answer[Health]
	_ = spend.Ask(port, unit, 8, &first)
	_ = spend.Ask(port, unit, 8, &second)
	_ = health.Ask(port, unit, &left)
	w.Refresh()
	fmt.Println(first.Value())
	fmt.Println(second.Value())
	fmt.Println(left.Get(context.Background()))
	// Output:
	// <nil> true
	// not enough true
	// {2} <nil>
}

// A message to every shard, whatever entities it holds.
func ExampleMessage_Broadcast() {
	w := world.MustNew(world.Options{Shards: 3})
	greet := world.RegisterMessage[Greet](w, "greet")
	s := scheduler.New(w, scheduler.Options{Workers: 1})
	s.MustAdd("hear", func(b *world.Build) func(*world.Context) {
		greets := world.Receive[Greet](b)
		return func(c *world.Context) {
			for _, e := range greets.All() {
				fmt.Println(c.Shard(), e.Body.Text)
			}
		}
	})

	port, _ := w.OpenPort()
	defer port.Close()
	_ = greet.Broadcast(port, Greet{"hello, all"})
	_ = greet.SendShard(port, 1, Greet{"hello, you"})
	_ = s.Step(context.Background())
	_ = s.Step(context.Background())
	// Output:
	// 0 hello, all
	// 1 hello, all
	// 1 hello, you
	// 2 hello, all
}
