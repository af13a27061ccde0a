package world_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// A sender that is too fast is told so; nothing of what was refused happens.
func ExamplePort_Waiting() {
	w := world.MustNew(world.Options{QueueRequests: 2})
	world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w)
	port, _ := w.OpenPort()
	defer port.Close()
	for range 3 {
		_, err := units.Create(port, Unit{})
		fmt.Println(errors.Is(err, world.ErrFull), port.Waiting(), port.Rejected())
	}
	w.Refresh() // makes room
	fmt.Println(port.Waiting(), w.Count(), "by port", port.Number())
	// Output:
	// false 1 0
	// false 2 0
	// true 2 1
	// 0 2 by port 0
}

// Who needs to know what became of a request waits for its completion.
func ExampleCompletion() {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	unit, _ := world.NewBundle[Unit](w).Create(w, Unit{})
	port, _ := w.OpenPort()

	var done world.Completion
	_ = port.Notify(&done).Destroy(unit)
	fmt.Println(done.Outcome())

	soon, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err := done.Wait(soon) // nobody refreshes
	fmt.Println(errors.Is(err, context.DeadlineExceeded))

	w.Refresh()
	fmt.Println(done.Wait(context.Background()))
	// Output:
	// undecided
	// true
	// applied <nil>
}

// The outcomes of three requests: the second came too late, the third asked for
// something the entity lacks.
func ExampleOutcome() {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	name := world.Register[Name](w, "name")
	units := world.NewBundle[Unit](w)
	unit, _ := units.Create(w, Unit{})
	other, _ := units.Create(w, Unit{})
	port, _ := w.OpenPort()

	var done [3]world.Completion
	_ = port.Notify(&done[0]).Destroy(unit)
	_ = port.Notify(&done[1]).Destroy(unit)
	_ = name.Set(port.Notify(&done[2]), other, Name{"Ann"})
	w.Refresh()
	for i := range done {
		fmt.Println(done[i].Outcome())
	}
	// Output:
	// applied
	// gone
	// missing
}

// What sleeps is left out by queries until a message wakes it.
func ExampleMessage_Wakes() {
	const asleep world.Flags = 1
	type Knock struct{}
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	knocks := world.RegisterMessage[Knock](w, "knock")
	knocks.Wakes(asleep)
	unit, _ := world.NewBundle[Unit](w).Create(w, Unit{})

	_ = world.AddFlags(w, unit, asleep)
	fmt.Println(w.Query(world.WithoutFlags(w, asleep)).Count())
	_ = knocks.Send(w, unit, Knock{})
	fmt.Println(w.Query(world.WithoutFlags(w, asleep)).Count())
	// Output:
	// 0
	// 1
}

// Messages, functions and questions are what a server may refuse while it is late.
func ExampleRefusable() {
	w := world.MustNew(world.Options{})
	var chat world.Refusable = world.RegisterFunc(w, "chat", func(*world.EntityContext, string) {})
	s := scheduler.New(w, scheduler.Options{Ladder: []scheduler.Rung{scheduler.Refuse(chat)}})
	fmt.Println(s.Step(context.Background())) // Run goes up the ladder
	// Output: <nil>
}
