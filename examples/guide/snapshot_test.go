package guide_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/snapshot/text"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// newGame makes the world of a server, empty.
func newGame() (*world.World, *world.Bundle[Ship], *scheduler.Scheduler) {
	w, ships := newSea()
	s := scheduler.New(w, scheduler.Options{})
	s.MustAdd("sail", Sail)
	return w, ships, s
}

func Example_snapshot() {
	path, _ := os.MkdirTemp("", "guide")
	defer func() { _ = os.RemoveAll(path) }()

	w, ships, s := newGame()
	h, _ := ships.Create(w, Ship{Velocity: Velocity{1, 0}})
	_ = s.Step(context.Background())

	dir := snapshot.Dir{Path: path, Keep: 5}
	_, err := dir.Save(w, snapshot.Options{Scheduler: s})
	fmt.Println(err)

	w, ships, s = newGame() // the next start of the program
	found, err := dir.Load(w, snapshot.Options{Scheduler: s})
	for _, passed := range found.Passed {
		fmt.Println("skipped:", passed)
	}
	_ = s.Step(context.Background())
	fmt.Println(err, w.Tick(), world.Read[Position](w).Get(h).X)
	_ = ships
	// Output:
	// <nil>
	// <nil> 2 0.1
}

// What an older version of the game had, and what became of it.
type (
	OldHealth struct{ Points, Most int32 }
	OldMood   struct{ Text string }
	Paint     struct{ Colour uint32 }

	Health struct {
		Points, Full int64
		Regains      float32
	}
	Mood struct{ Calm bool }
	Fuel struct{ Litres int }
)

// olderGame returns what the older version has saved.
func olderGame() []byte {
	type creature struct {
		OldHealth
		OldMood
		Paint
	}
	w := world.MustNew(world.Options{})
	world.Register[OldHealth](w, "health")
	world.Register[OldMood](w, "mood")
	world.Register[Paint](w, "paint")
	_, _ = world.NewBundle[creature](w).Create(w, creature{OldHealth{70, 100}, OldMood{"calm"}, Paint{}})
	var file bytes.Buffer
	_ = snapshot.Write(&file, w, snapshot.Options{})
	return file.Bytes()
}

func Example_changes() {
	old := olderGame()
	w := world.MustNew(world.Options{})
	world.Register[Health](w, "life")
	world.Register[Mood](w, "mood")
	fuel := world.Register[Fuel](w, "fuel")

	plan, _ := snapshot.PlanLoad(bytes.NewReader(old), w, snapshot.Options{})
	fmt.Print(plan)

	o := snapshot.Options{Changes: []snapshot.Change{
		snapshot.Renamed("health", "life"),
		snapshot.RenamedField("life", "Most", "Full"),
		snapshot.Dropped("paint"),
		snapshot.Migrated(func(was OldMood) Mood { return Mood{Calm: was.Text == "calm"} }),
	}}
	plan, _ = snapshot.PlanLoad(bytes.NewReader(old), w, o)
	fmt.Print(plan)
	fmt.Println(snapshot.Load(bytes.NewReader(old), w, o))

	full := world.Write[Fuel](w)
	_ = fuel.AddTo(w.Query(world.With[Health](w)), func(rows world.Chunk) {
		for i := range full.Slice(rows) {
			full.Slice(rows)[i] = Fuel{100}
		}
	})
	for rows := range w.Query().Chunks() {
		fmt.Println(world.Read[Health](w).Slice(rows), world.Read[Mood](w).Slice(rows), full.Slice(rows))
	}
	// Output:
	// refuses  component "health": is not in this world: say Renamed("health", …), or register it beside the new one until no entity has it; Dropped("health") LOSES IT IN 1 ENTITY
	// loads    component "mood", field Calm (bool): is new, and begins at zero
	// refuses  component "mood", field Text (string): is not in this world: say RenamedField("mood", "Text", …), or give a Migrated; Dropped("mood", "Text") LOSES IT IN 1 ENTITY
	// refuses  component "paint": is not in this world: say Renamed("paint", …), or register it beside the new one until no entity has it; Dropped("paint") LOSES IT IN 1 ENTITY
	// loads    component "life" (guide_test.Health): is new: no entity has it
	// loads    component "fuel" (guide_test.Fuel): is new: no entity has it
	// 6 differences, 3 refused
	// loads    component "health": is "life" now
	// loads    component "health", field Points (int32 → int64): is converted
	// loads    component "health", field Most (int32): is Full now
	// loads    component "health", field Most (int32 → int64): is converted
	// loads    component "health", field Regains (float32): is new, and begins at zero
	// loads    component "mood" (guide_test.OldMood → guide_test.Mood): is made by a function
	// loads    component "paint": is dropped, WHICH LOSES IT IN 1 ENTITY
	// loads    component "fuel" (guide_test.Fuel): is new: no entity has it
	// 8 differences, 0 refused
	// <nil>
	// [{70 100 0}] [{true}] [{100}]
}

// A component of the older game, and the two that have taken its place.
type (
	OldShip struct{ Armour, Tons int }
	Armour  struct{ Points int }
	Cargo   struct{ Tons int }
)

func Example_split() {
	olds := world.MustNew(world.Options{})
	world.Register[OldShip](olds, "ship")
	_, _ = world.NewBundle[struct{ OldShip }](olds).Create(olds, struct{ OldShip }{OldShip{70, 3}})
	var file bytes.Buffer
	_ = snapshot.Write(&file, olds, snapshot.Options{})
	w := world.MustNew(world.Options{})

	old := world.Register[OldShip](w, "ship")
	world.Register[Armour](w, "armour")
	world.Register[Cargo](w, "cargo")
	parts := world.NewBundle[struct {
		Armour
		Cargo
	}](w)
	err := snapshot.Load(&file, w, snapshot.Options{})

	ships := w.Query(world.With[OldShip](w))
	was, armours, cargos := world.Read[OldShip](w), world.Write[Armour](w), world.Write[Cargo](w)
	err = errors.Join(err, parts.AddTo(ships, func(rows world.Chunk) {
		for i, ship := range was.Slice(rows) {
			armours.Slice(rows)[i], cargos.Slice(rows)[i] = Armour{ship.Armour}, Cargo{ship.Tons}
		}
	}), ships.Remove(old))
	for rows := range w.Query().Chunks() {
		fmt.Println(armours.Slice(rows), cargos.Slice(rows), was.Slice(rows), err)
	}
	// Output: [{70}] [{3}] [] <nil>
}

func Example_capture() {
	path, _ := os.MkdirTemp("", "guide")
	defer func() { _ = os.RemoveAll(path) }()
	dir := snapshot.Dir{Path: path}
	w, ships, s := newGame()
	_, _ = ships.Create(w, Ship{})
	go func() { _ = s.Run(context.Background()) }()
	defer s.Stop()

	var failed error
	var captured *snapshot.Captured
	err := <-s.Between(func(w *world.World) {
		captured, failed = snapshot.Capture(w, snapshot.Options{Scheduler: s})
	})
	if err = errors.Join(err, failed); err == nil {
		_, err = dir.SaveCaptured(captured)
		captured.Release()
	}
	found, _ := dir.Newest()
	fmt.Println(err, found.Info.Entities)
	// Output:
	// <nil> 1
}

func Example_fork() {
	w, ships, s := newGame()
	h, _ := ships.Create(w, Ship{Velocity: Velocity{1, 0}})
	_ = s.Step(context.Background())

	captured, err := snapshot.Capture(w, snapshot.Options{Scheduler: s})
	for _, speed := range []float64{2, 4} {
		w, _, s := newGame()
		err = errors.Join(err, captured.Load(w, snapshot.Options{Scheduler: s}))
		world.Write[Velocity](w).Get(h).X = speed
		for range 20 {
			_ = s.Step(context.Background())
		}
		fmt.Printf("at speed %v it comes to %.2f\n", speed, world.Read[Position](w).Get(h).X)
	}
	captured.Release()
	fmt.Println(err, "it is at", world.Read[Position](w).Get(h).X)
	// Output:
	// at speed 2 it comes to 2.05
	// at speed 4 it comes to 4.05
	// <nil> it is at 0.05
}

func Example_back() {
	w, ships, s := newGame()
	h, _ := ships.Create(w, Ship{Velocity: Velocity{1, 0}})

	var ring []*snapshot.Captured // the last ticks, the oldest first
	for range 5 {
		if len(ring) == w.Options().FramesMax {
			ring[0].Release()
			ring = ring[1:]
		}
		captured, _ := snapshot.Capture(w, snapshot.Options{Scheduler: s})
		ring = append(ring, captured)
		_ = s.Step(context.Background())
	}
	fmt.Println(w.Tick(), world.Read[Position](w).Get(h).X)

	// A packet comes late: the ship has turned two ticks ago.
	now, old := w.Tick(), w
	w, _, s = newGame()
	err := ring[len(ring)-2].Load(w, snapshot.Options{Scheduler: s})
	old.Close()
	world.Write[Velocity](w).Get(h).X = -1
	for w.Tick() < now {
		_ = s.Step(context.Background())
	}
	fmt.Printf("%d %.2f %v\n", w.Tick(), world.Read[Position](w).Get(h).X, err)
	// Output:
	// 5 0.25
	// 5 0.05 <nil>
}

func Example_text() {
	type creature struct {
		Health
		Mood
	}
	newWorld := func() (*world.World, *world.Bundle[creature]) {
		w := world.MustNew(world.Options{})
		world.Register[Health](w, "health")
		world.Register[Mood](w, "mood")
		return w, world.NewBundle[creature](w)
	}
	w, creatures := newWorld()
	next, _ := newWorld()
	h, _ := creatures.Create(w, creature{Health{70, 100, 0}, Mood{true}})

	var file, lines, again bytes.Buffer
	_ = snapshot.Write(&file, w, snapshot.Options{})
	_, err := text.Export(&file, &lines, snapshot.Options{})
	fmt.Println(err)

	edited := strings.Replace(lines.String(), `"Points":70`, `"Points":90`, 1)
	for line := range strings.Lines(edited) {
		if strings.HasPrefix(line, `{"entity":`) {
			fmt.Print(line)
		}
	}
	_, err = text.Import(strings.NewReader(edited), &again, snapshot.Options{})
	fmt.Println(err, snapshot.Load(&again, next, snapshot.Options{}), world.Read[Health](next).Get(h).Points)
	// Output:
	// <nil>
	// {"entity":"0:0@1","components":{"health":{"Points":90,"Full":100,"Regains":0},"mood":{"Calm":true}}}
	// <nil> <nil> 90
}
