package world_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// A function is registered under a name. By an idle World it is called at once.
func ExampleRegisterFunc() {
	w := world.MustNew(world.Options{})
	health := world.Register[Health](w, "health")
	heal := world.RegisterFunc(w, "heal", func(self *world.EntityContext, points int64) {
		health.Write(self).Points += points
	})
	unit, _ := world.NewBundle[Unit](w).Create(w, Unit{Health{10}})

	fmt.Println(heal.Call(w, unit, 5), *world.Read[Health](w).Get(unit))
	fmt.Println(heal.Call(w, handle.None, 5))
	// Output:
	// <nil> {15}
	// world: entity is not alive
}

// What a function may do: with its entity all at once, elsewhere by request.
func ExampleEntityContext() {
	w := world.MustNew(world.Options{})
	health := world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w)
	leader, _ := units.Create(w, Unit{Health{100}})
	other, _ := units.Create(w, Unit{Health{100}})

	duel := world.RegisterFunc(w, "duel", func(self *world.EntityContext, with handle.Handle) {
		fmt.Println("shard", self.Shard(), "tick", self.Tick(), self.Handle() == leader, self.Alive(with))
		_ = health.Set(self, with, Health{health.Read(self).Points - 1}) // in the next refresh
		_ = self.Destroy(self.Handle())                                  // in this one
		fmt.Println(self.Status(self.Handle()))
	})
	port, _ := w.OpenPort()
	_ = duel.Call(port, leader, other)
	w.Refresh()
	fmt.Println(w.Status(leader), *world.Read[Health](w).Get(other))
	w.Refresh()
	fmt.Println(*world.Read[Health](w).Get(other))
	// Output:
	// shard 0 tick 0 true true
	// dying
	// stale {100}
	// {99}
}

// A question is registered under a name, and asked through a port.
func ExampleRegisterQuestion() {
	type Mailbox struct{ Letters []string }
	type Office struct{ Mailbox }
	w := world.MustNew(world.Options{})
	mailbox := world.Register[Mailbox](w, "mailbox")
	office, _ := world.NewBundle[Office](w).Create(w, Office{Mailbox{[]string{"a", "b", "c"}}})
	collect := world.RegisterQuestion(w, "collect", func(self *world.EntityContext, n int) []string {
		box := mailbox.Write(self)
		taken := box.Letters[:min(n, len(box.Letters))]
		box.Letters = box.Letters[len(taken):]
		return taken
	})

	port, _ := w.OpenPort()
	var first, second world.Answer[[]string]
	_ = collect.Ask(port, office, 2, &first)
	_ = collect.Ask(port, office, 2, &second)
	w.Refresh()
	fmt.Println(first.Value())
	fmt.Println(second.Value())
	// Output:
	// [a b] true
	// [c] true
}

// An answer is there when the refresh is done; Get waits for it, and says in the
// words of errors why there is none.
func ExampleAnswer() {
	w := world.MustNew(world.Options{})
	health := world.Register[Health](w, "health")
	name := world.Register[Name](w, "name")
	unit, _ := world.NewBundle[Unit](w).Create(w, Unit{Health{10}})
	port, _ := w.OpenPort()

	var points world.Answer[Health]
	var called, nobody world.Answer[Name]
	_ = health.Ask(port, unit, &points)
	_ = name.Ask(port, unit, &called)
	_ = name.Ask(port, handle.None, &nobody)
	_, ok := points.Value()
	fmt.Println(ok)
	w.Refresh()
	fmt.Println(points.Get(context.Background()))
	_, err := called.Get(context.Background())
	fmt.Println(errors.Is(err, world.ErrMissing))
	_, err = nobody.Get(context.Background())
	fmt.Println(errors.Is(err, world.ErrStale))
	// Output:
	// false
	// {10} <nil>
	// true
	// true
}

// A function that panics harms nothing else: its sender gets the outcome Failed, and
// World.Failure, or the error of a scheduler's Step, has the details.
func ExamplePanicError() {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	unit, _ := world.NewBundle[Unit](w).Create(w, Unit{})
	boom := world.RegisterFunc(w, "boom", func(*world.EntityContext, struct{}) { panic("no fuse") })
	port, _ := w.OpenPort()
	var done world.Completion
	_ = boom.Call(port.Notify(&done), unit, struct{}{})

	w.Refresh()
	fmt.Println(done.Outcome())
	var failure *world.PanicError
	fmt.Println(errors.As(w.Failure(), &failure), failure.In, failure.Name, failure.Value)
	fmt.Println(failure)
	// Output:
	// failed
	// true function boom no fuse
	// world: function "boom" panicked on 0:0@1, on shard 0, at the end of tick 0: no fuse
}

// A world that was closed says so, too.
func ExampleWorld_Err() {
	w := world.MustNew(world.Options{})
	fmt.Println(w.Err())
	w.Close()
	fmt.Println(w.Err())
	// Output:
	// <nil>
	// world: the port, or its world, is closed
}

// What Step returns tells whether the world can still be used.
func ExampleBrokenError() {
	w := world.MustNew(world.Options{})
	var broken *world.BrokenError
	if errors.As(w.Err(), &broken) {
		fmt.Println("restore the last save:", broken.During, broken.Value)
	}
	fmt.Println(errors.Is(world.ErrBroken, world.ErrClosed))
	// Output: true
}
