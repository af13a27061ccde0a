package timer_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Bomb explodes when its timer is due.
type (
	Bomb  struct{ Timer timer.ID }
	Boom  struct{ Radius int }
	lying struct{ Bomb }
)

// newField is a world with bombs that tell when they explode.
func newField() (w *world.World, s *scheduler.Scheduler, bombs *world.Bundle[lying], fuses *timer.Timers[Boom]) {
	w = world.MustNew(world.Options{Shards: 1})
	world.Register[Bomb](w, "bomb")
	bombs = world.NewBundle[lying](w)
	fuses = timer.New(w, "fuses", world.RegisterMessage[Boom](w, "boom"), timer.Options{})
	s = scheduler.New(w, scheduler.Options{})
	s.MustAdd("explode", func(b *world.Build) func(*world.Context) {
		in := world.Receive[Boom](b)
		return func(c *world.Context) {
			for _, m := range in.All() {
				fmt.Println("tick", c.Tick(), "boom", m.Body.Radius)
			}
		}
	})
	return w, s, bombs, fuses
}

func steps(s *scheduler.Scheduler, n int) {
	for range n {
		_ = s.Step(context.Background())
	}
}

func ExampleNew() {
	w, s, bombs, fuses := newField()
	h, _ := bombs.Create(w, lying{})
	_, _ = fuses.After(w, h, 3, Boom{5})
	steps(s, 10)
	// Output:
	// tick 3 boom 5
}

// A timer goes with its entity.
func ExampleTimers() {
	w, s, bombs, fuses := newField()
	h, _ := bombs.Create(w, lying{})
	_, _ = fuses.After(w, h, 3, Boom{5})
	w.Destroy(h)
	steps(s, 10)
	_, err := fuses.After(w, h, 3, Boom{5})
	fmt.Println(errors.Is(err, world.ErrStale), fuses.Name())
	// Output:
	// true fuses
}

// A port sets a timer of what it has just created.
func ExampleTimers_After() {
	w, s, bombs, fuses := newField()
	port, _ := w.OpenPort()
	h, _ := bombs.Create(port, lying{})
	_, err := fuses.After(port, h, 2, Boom{7})
	fmt.Println(err)
	steps(s, 5)
	// Output:
	// <nil>
	// tick 2 boom 7
}

func ExampleTimers_At() {
	w, s, bombs, fuses := newField()
	h, _ := bombs.Create(w, lying{})
	_, _ = fuses.At(w, h, 4, Boom{1})
	steps(s, 10)
	// Output:
	// tick 4 boom 1
}

// An ID in a component resets the timer from wherever the entity is written.
func ExampleTimers_Every() {
	w, s, bombs, fuses := newField()
	h, _ := bombs.Create(w, lying{})
	bomb := world.Write[Bomb](w).Get(h)
	bomb.Timer, _ = fuses.Every(w, h, 2, Boom{3})
	steps(s, 5)
	fmt.Println(fuses.Reset(w, world.Read[Bomb](w).Get(h).Timer, 4))
	steps(s, 5)
	// Output:
	// tick 2 boom 3
	// tick 4 boom 3
	// <nil>
	// tick 9 boom 3
}

func ExampleTimers_Cancel() {
	w, s, bombs, fuses := newField()
	h, _ := bombs.Create(w, lying{})
	id, _ := fuses.After(w, h, 3, Boom{5})
	fmt.Println(fuses.Len(), fuses.Cancel(w, id), fuses.Len())
	steps(s, 10)
	// Output:
	// 1 <nil> 0
}

func ExampleTimers_Reset() {
	w, _, bombs, fuses := newField()
	h, _ := bombs.Create(w, lying{})
	id, _ := fuses.After(w, h, 3, Boom{5})
	_ = fuses.Cancel(w, id)
	fmt.Println(fuses.Reset(w, id, 3))
	// Output:
	// timer: it is not set any more
}

// Keep an ID in a component; None is that of no timer.
func ExampleID() {
	var bomb Bomb
	fmt.Println(bomb.Timer == timer.None)
	// Output:
	// true
}

func ExampleOptions() {
	w := world.MustNew(world.Options{})
	world.Register[Bomb](w, "bomb")
	bombs := world.NewBundle[lying](w)
	fuses := timer.New(w, "fuses", world.RegisterMessage[Boom](w, "boom"), timer.Options{Max: 1})
	var h handle.Handle
	h, _ = bombs.Create(w, lying{})
	_, _ = fuses.After(w, h, 3, Boom{5})
	_, err := fuses.After(w, h, 3, Boom{5})
	fmt.Println(errors.Is(err, timer.ErrMax), fuses.Options().Max)
	// Output:
	// true 1
}
