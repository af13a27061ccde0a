package snapshot_test

import (
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

// A program asks whether it can read a piece that another one has made.
func ExampleFits() {
	type cargo struct{ Gold int }
	w := world.MustNew(world.Options{})
	world.Register[cargo](w, "cargo")
	ship, _ := world.NewBundle[struct{ Cargo cargo }](w).Create(w, struct{ Cargo cargo }{cargo{30}})
	piece, _ := snapshot.Extract(w, snapshot.ExtractOptions{}, ship)
	other := world.MustNew(world.Options{})
	fmt.Println(snapshot.Fits(w, piece, snapshot.InsertOptions{}))
	fmt.Println(errors.Is(snapshot.Fits(other, piece, snapshot.InsertOptions{}), snapshot.ErrOtherWorld))
	// Output:
	// <nil>
	// true
}
