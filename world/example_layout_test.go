package world_test

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// Handles are good in worlds of the same layout alone.
func ExampleLayout() {
	w, wider := world.MustNew(world.Options{Shards: 2}), world.MustNew(world.Options{Shards: 4})
	fmt.Println(w.Layout() == wider.Layout(), w.Layout().Shards)

	sum := w.Layout().HomeBits + w.Layout().IndexBits + w.Layout().VersionBits
	fmt.Println(sum, sum == handle.HomeBits+handle.IndexBits+handle.VersionBits)
	// Output:
	// false 2
	// 64 true
}
