package world_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/atoll-sim/atoll/handle"
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

// squads is an extension: who has lost the captain dies with them, and medics
// cannot die while the captain lives.
type squads struct {
	captain handle.Handle
	members []handle.Handle
	medics  []handle.Handle
}

func (s *squads) Begin() {}

func (s *squads) Spare(d *world.DyingSet) (spared bool) {
	for _, h := range s.medics {
		if d.Has(h) && !d.Has(s.captain) {
			d.Spare(h)
			spared = true
		}
	}
	return spared
}

func (s *squads) Spread(d *world.DyingSet, from int) {
	for _, h := range d.All()[from:] {
		if h == s.captain {
			d.Mark(s.members)
		}
	}
}

func (s *squads) Settle() {}

// A relation among entities takes part in the refresh. Package hierarchy is one.
func ExampleExtension() {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	all, _ := world.NewBundle[Unit](w).AppendN(nil, w, 4, nil)
	squad := &squads{captain: all[0], members: all[1:], medics: all[3:]}
	w.Extend(squad)
	port, _ := w.OpenPort()

	_ = port.Destroy(all[3])
	w.Refresh()
	fmt.Println(w.Count(), "the medic was spared")
	_ = port.Destroy(all[0])
	w.Refresh()
	fmt.Println(w.Count())
	// Output:
	// 4 the medic was spared
	// 0
}

// A DyingSet says which entities die in a refresh, and lets an extension spare some.
func ExampleDyingSet() {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	all, _ := world.NewBundle[Unit](w).AppendN(nil, w, 3, nil)
	w.Extend(&squads{captain: all[0], members: all[1:]})
	w.Destroy(all[0])
	w.Destroy(all[1])
	w.Refresh()
	fmt.Println(w.Count())
	// Output: 0
}

// An extension's requests are applied one after the other, for whoever sends them.
func ExampleNewRequests() {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	all, _ := world.NewBundle[Unit](w).AppendN(nil, w, 3, nil)
	squad := &squads{captain: all[0]}
	w.Extend(squad)
	var promote *world.Requests[int]
	promote = world.NewRequests(w, "squads", func(h handle.Handle, rank *int) world.Outcome {
		if *rank < 10 || promote.Dying(h) {
			return world.Refused
		}
		squad.captain = h
		return world.Applied
	})

	port, _ := w.OpenPort()
	var low, high world.Completion
	_ = promote.Send(port.Notify(&low), all[1], 3)
	_ = promote.Send(port.Notify(&high), all[2], 11)
	w.Refresh()
	fmt.Println(low.Outcome(), high.Outcome(), squad.captain == all[2])
	// Output: refused applied true
}

// Requests are for the world they were made for.
func ExampleRequests() {
	w, other := world.MustNew(world.Options{}), world.MustNew(world.Options{})
	do := world.NewRequests(w, "squads", func(handle.Handle, *int) world.Outcome { return world.Applied })
	do.Check(w)
	defer func() { fmt.Println(recover() != nil) }()
	do.Check(other)
	// Output: true
}

// An extension's reader is asked of a Build or of an idle World, as accessors are.
func ExampleBound() {
	w := world.MustNew(world.Options{})
	fmt.Println(world.Bound(w, "squads.Read") == w, w.Idle())
	// Output: true true
}
