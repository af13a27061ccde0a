package world_test

import (
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/world"
)

// A world that goes on after a crash gives handles of its own: none of those that were lost.
func ExampleWorld_Reincarnate() {
	w := world.MustNew(world.Options{Shards: 1, VersionsEach: 10_000})
	world.Register[Health](w, "health")
	units := world.NewBundle[Unit](w)
	lost, _ := units.Create(w, Unit{}) // then the process dies, before anything was saved

	w = world.MustNew(world.Options{Shards: 1, VersionsEach: 10_000})
	world.Register[Health](w, "health")
	units = world.NewBundle[Unit](w)
	err := w.Reincarnate(w.Incarnation() + 1)
	next, _ := units.Create(w, Unit{})
	fmt.Println(err, lost, w.Status(lost), next)

	fmt.Println(errors.Is(w.Reincarnate(30_000), world.ErrVersions)) // there are not so many
	// Output:
	// <nil> 0:0@1 stale 0:0@10001
	// true
}
