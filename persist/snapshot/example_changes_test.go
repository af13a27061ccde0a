package snapshot_test

import (
	"bytes"
	"fmt"

	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// exampleSaved returns what a world with one component, and one entity, has saved.
func exampleSaved[T any](name string, value T) []byte {
	w := world.MustNew(world.Options{})
	world.Register[T](w, name)
	_, _ = world.NewBundle[struct{ V T }](w).Create(w, struct{ V T }{value})
	var file bytes.Buffer
	_ = snapshot.Write(&file, w, snapshot.Options{})
	return file.Bytes()
}

// exampleLoad loads it into a world with another component, and tells its value.
func exampleLoad[T any](file []byte, name string, changes ...snapshot.Change) {
	w := world.MustNew(world.Options{})
	world.Register[T](w, name)
	err := snapshot.Load(bytes.NewReader(file), w, snapshot.Options{Changes: changes})
	for rows := range w.Query().Chunks() {
		fmt.Printf("%+v %v\n", world.Read[T](w).Slice(rows), err)
	}
}

// A component has another name now.
func ExampleRenamed() {
	file := exampleSaved("hp", exampleHealth{7})
	exampleLoad[exampleHealth](file, "health", snapshot.Renamed("hp", "health"))
	// Output: [{Points:7}] <nil>
}

// A field has another name now. That it is wider need not be said.
func ExampleRenamedField() {
	file := exampleSaved("health", struct{ HP int32 }{7})
	exampleLoad[exampleHealth](file, "health", snapshot.RenamedField("health", "HP", "Points"))
	// Output: [{Points:7}] <nil>
}

// A field is gone.
func ExampleDropped() {
	file := exampleSaved("health", struct{ Points, Most int64 }{7, 9})
	exampleLoad[exampleHealth](file, "health", snapshot.Dropped("health", "Most"))
	// Output: [{Points:7}] <nil>
}

// A function makes new values of old ones.
func ExampleMigrated() {
	type oldHealth struct{ Whole, Tenths int64 }
	file := exampleSaved("health", oldHealth{7, 5})
	exampleLoad[exampleHealth](file, "health", snapshot.Migrated(func(was oldHealth) exampleHealth {
		return exampleHealth{10*was.Whole + was.Tenths}
	}))
	// Output: [{Points:75}] <nil>
}

// A plan tells what Load would do, without doing it.
func ExamplePlanLoad() {
	file := exampleSaved("health", struct{ Points int32 }{7})
	w := world.MustNew(world.Options{})
	world.Register[exampleHealth](w, "health")
	plan, err := snapshot.PlanLoad(bytes.NewReader(file), w, snapshot.Options{})
	fmt.Print(err, "\n", plan)
	// Output:
	// <nil>
	// loads    component "health", field Points (int32 → int64): is converted
	// 1 differences, 0 refused
}

// A new program is known by what it has saved, too.
func ExamplePlanFiles() {
	old, now := exampleSaved("health", struct{ Points, Most int64 }{7, 9}), exampleSaved("health", exampleHealth{7})
	plan, _ := snapshot.PlanFiles(bytes.NewReader(old), bytes.NewReader(now), snapshot.Options{})
	for _, d := range plan.Blocking() {
		fmt.Println(d.Kind, d.Name, d.Field, d.Was)
	}
	// Output: component health Most int64
}

// A program that must not refuse anything looks at the plan first.
func ExamplePlan() {
	file := exampleSaved("health", exampleHealth{7})
	w := world.MustNew(world.Options{})
	plan, _ := snapshot.PlanLoad(bytes.NewReader(file), w, snapshot.Options{})
	fmt.Println(len(plan.Blocking()), plan.Info.Entities)
	// Output: 1 1
}
