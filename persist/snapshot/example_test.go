package snapshot_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

type (
	exampleHealth struct{ Points int64 }
	exampleBag    struct{ Items []string } // needs no codec
	exampleUnit   struct {
		exampleHealth
		exampleBag
	}
)

// exampleWorld makes a world as a program does each time it starts.
func exampleWorld() (*world.World, *world.Bundle[exampleUnit], *scheduler.Scheduler) {
	w := world.MustNew(world.Options{})
	world.Register[exampleHealth](w, "health")
	world.Register[exampleBag](w, "bag")
	return w, world.NewBundle[exampleUnit](w), scheduler.New(w, scheduler.Options{})
}

// A world is saved between two ticks, and a new one goes on where it was.
func ExampleWrite() {
	w, units, s := exampleWorld()
	h, _ := units.Create(w, exampleUnit{exampleHealth{7}, exampleBag{[]string{"rope"}}})
	w.Refresh()

	var file bytes.Buffer
	fmt.Println(snapshot.Write(&file, w, snapshot.Options{Scheduler: s}))

	again, _, t := exampleWorld()
	fmt.Println(snapshot.Load(&file, again, snapshot.Options{Scheduler: t}))
	fmt.Println(again.Tick(), *world.Read[exampleHealth](again).Get(h), *world.Read[exampleBag](again).Get(h))
	// Output:
	// <nil>
	// <nil>
	// 1 {7} {[rope]}
}

// What the new world lacks, or has in another form, is named.
func ExampleLoad() {
	w, _, _ := exampleWorld()
	var file bytes.Buffer
	_ = snapshot.Write(&file, w, snapshot.Options{})

	type exampleHealth struct{ Points int32 }
	other := world.MustNew(world.Options{})
	world.Register[exampleHealth](other, "health")
	err := snapshot.Load(&file, other, snapshot.Options{})
	fmt.Println(errors.Is(err, snapshot.ErrOtherWorld), strings.Contains(err.Error(), `component "health"`), other.Err())
	// Output: true true <nil>
}

// The head says of what world a snapshot is, without reading the rest.
func ExampleInspect() {
	w, units, _ := exampleWorld()
	_ = units.CreateN(w, 100, nil)
	w.Refresh()
	var file bytes.Buffer
	_ = snapshot.Write(&file, w, snapshot.Options{})
	info, err := snapshot.Inspect(bytes.NewReader(file.Bytes()))
	fmt.Println(info.Tick, info.Entities, info.Options == w.Options(), err)
	// Output: 1 100 true <nil>
}

// Verify reads all of it.
func ExampleVerify() {
	w, _, _ := exampleWorld()
	var file bytes.Buffer
	_ = snapshot.Write(&file, w, snapshot.Options{})
	whole := file.Bytes()
	_, err := snapshot.Verify(bytes.NewReader(whole))
	fmt.Println(err)
	_, err = snapshot.Verify(bytes.NewReader(whole[:len(whole)-1]))
	fmt.Println(errors.Is(err, snapshot.ErrTruncated))
	// Output:
	// <nil>
	// true
}

// A Dir keeps the last files, and finds the newest that is whole.
func ExampleDir() {
	path, _ := os.MkdirTemp("", "atoll")
	defer func() { _ = os.RemoveAll(path) }()
	dir := snapshot.Dir{Path: path, Keep: 2}

	w, _, _ := exampleWorld()
	for range 3 {
		w.Refresh()
		_, _ = dir.Save(w, snapshot.Options{})
	}
	again, _, _ := exampleWorld()
	found, err := dir.Load(again, snapshot.Options{})
	fmt.Println(again.Tick(), len(found.Passed), err)
	// Output: 3 0 <nil>
}

// Compressions are told by their names.
func ExampleCompression() {
	fmt.Println(snapshot.Zstd, snapshot.S2, snapshot.None)
	// Output: zstd s2 none
}

// What was captured is written while the world goes on.
func ExampleCapture() {
	w, units, _ := exampleWorld()
	_ = units.CreateN(w, 3, nil)
	captured, err := snapshot.Capture(w, snapshot.Options{})
	fmt.Println(err)
	defer captured.Release()

	_ = units.CreateN(w, 4, nil)
	var file bytes.Buffer
	_ = captured.Write(&file)
	again, _, _ := exampleWorld()
	fmt.Println(snapshot.Load(&file, again, snapshot.Options{}), again.Count(), w.Count())
	// Output:
	// <nil>
	// <nil> 3 7
}

// A Captured goes to a file of a Dir like a world.
func ExampleCaptured() {
	path, _ := os.MkdirTemp("", "atoll")
	defer func() { _ = os.RemoveAll(path) }()
	dir := snapshot.Dir{Path: path}

	w, units, _ := exampleWorld()
	_ = units.CreateN(w, 3, nil)
	captured, _ := snapshot.Capture(w, snapshot.Options{})
	_, err := dir.SaveCaptured(captured)
	captured.Release()
	found, _ := dir.Newest()
	fmt.Println(err, found.Info.Entities)
	// Output: <nil> 3
}

// A fork is another world, which goes on from the same moment.
func ExampleCaptured_Load() {
	w, units, s := exampleWorld()
	h, _ := units.Create(w, exampleUnit{exampleHealth: exampleHealth{7}})
	captured, _ := snapshot.Capture(w, snapshot.Options{Scheduler: s})
	defer captured.Release()

	fork, _, t := exampleWorld()
	fmt.Println(captured.Load(fork, snapshot.Options{Scheduler: t}))
	fork.Destroy(h)
	fork.Refresh()
	fmt.Println(fork.Alive(h), w.Alive(h))
	// Output:
	// <nil>
	// false true
}

// The hash is that of the world when it was captured, whatever it does meanwhile.
func ExampleCaptured_Hash() {
	w, units, _ := exampleWorld()
	h, _ := units.Create(w, exampleUnit{})
	then, _ := state.StateHash(w, nil)
	captured, _ := snapshot.Capture(w, snapshot.Options{})
	defer captured.Release()
	w.Destroy(h)
	w.Refresh()
	now, _ := state.StateHash(w, nil)
	hash, err := captured.Hash()
	fmt.Println(hash == then, hash == now, err)
	// Output: true false <nil>
}
