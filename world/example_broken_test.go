package world_test

import (
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/world"
)

// quota is an extension with a fault.
type quota struct{}

func (quota) Begin()                      {}
func (quota) Spare(*world.DyingSet) bool  { return false }
func (quota) Spread(*world.DyingSet, int) {}
func (quota) Settle()                     { panic("more dead than living") }

// What an extension panics with breaks the world, in the middle of a change. It is closed then:
// whoever waits is told, and Err has the cause.
func ExampleBrokenError() {
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w)
	unit, _ := units.Create(w, Unit{Health{100}})
	w.Extend(quota{})

	port, _ := w.OpenPort()
	var done world.Completion
	_ = port.Notify(&done).Destroy(unit)
	func() {
		defer func() { fmt.Println("panic:", recover()) }()
		w.Refresh() // a scheduler's Step returns the error
	}()
	fmt.Println("request:", done.Outcome())
	fmt.Println("unit:", port.Status(unit))

	var cause *world.BrokenError
	fmt.Println(errors.As(w.Err(), &cause), cause.During, "-", cause.Value)
	_, err := units.Create(w, Unit{})
	fmt.Println(errors.Is(err, world.ErrBroken), errors.Is(err, world.ErrClosed))
	// Output:
	// panic: world: broken by a panic in Settle of extension world_test.quota, at the end of tick 0: more dead than living
	// request: broken
	// unit: stale
	// true Settle of extension world_test.quota - more dead than living
	// true true
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

// diskFull is a Recorder that cannot write.
type diskFull struct{}

func (diskFull) Begin()                                 { panic("disk full") }
func (diskFull) Request(int, int, store.PendingRequest) {}
func (diskFull) End(*world.Inputs)                      {}
func (diskFull) Failed(err error)                       { fmt.Println("failed:", err) }

// A Recorder that panics is told nothing any more; the world goes on. Schedulers ask RecorderError.
func ExampleRecorderError() {
	w := world.MustNew(world.Options{})
	if err := w.RecordInputs(diskFull{}); err != nil {
		panic(err)
	}
	tick := w.BeginTick()
	tick.End(serial)
	fmt.Println(tick.RecorderError().Method, tick.RecorderError().Value)
	w.Refresh()
	fmt.Println(w.Failure())
	// Output:
	// failed: world: the Recorder panicked in Begin, at the end of tick 0: disk full
	// Begin disk full
	// <nil>
}

// A scheduler that cannot complete a tick breaks the world.
func ExampleTick_Break() {
	w := world.MustNew(world.Options{})
	tick := w.BeginTick()
	fmt.Println(tick.Break("out of workers"))
	fmt.Println(errors.Is(w.Err(), world.ErrBroken))
	// Output:
	// world: broken by a panic in the scheduler, at the end of tick 0: out of workers
	// true
}
