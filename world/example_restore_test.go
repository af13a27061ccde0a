package world_test

import (
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// A state is loaded into a new world: entities have the handles they had, and
// those that were stale stay so.
func ExampleRestoration() {
	newWorld := func() (*world.World, *world.Bundle[Unit]) {
		w := world.MustNew(world.Options{Shards: 2, VersionMax: 2})
		world.Register[Health](w, "health")
		return w, world.NewBundle[Unit](w)
	}
	old, units := newWorld()
	kept, _ := units.Create(old, Unit{Health{7}})
	dead, _ := units.Create(old, Unit{})
	old.Destroy(dead)
	old.Refresh()
	free, retired := old.Vacant() // is saved with the entities

	w, units := newWorld()
	err := w.Restore(old.Layout(), func(r *world.Restoration) error {
		err := units.Recreate(r, 0, kept, Unit{Health{7}})
		for _, h := range free {
			err = errors.Join(err, r.Free(h))
		}
		for _, h := range retired {
			err = errors.Join(err, r.Retire(h))
		}
		return err
	})
	fmt.Println(err, kept, *world.Read[Health](w).Get(kept))
	next, _ := units.Create(w, Unit{})
	fmt.Println(dead, w.Status(dead), next)
	// Output:
	// <nil> 0:0@1 {7}
	// 0:1@1 stale 0:1@2
}

// Handles are good in worlds of the same layout alone.
func ExampleLayout() {
	w, wider := world.MustNew(world.Options{Shards: 2}), world.MustNew(world.Options{Shards: 4})
	fmt.Println(w.Layout() == wider.Layout(), w.Layout().Shards)
	err := wider.Restore(w.Layout(), func(*world.Restoration) error { return nil })
	fmt.Println(errors.Is(err, world.ErrRestore))

	sum := w.Layout().ShardBits + w.Layout().IndexBits + w.Layout().VersionBits
	fmt.Println(sum, sum == handle.ShardBits+handle.IndexBits+handle.VersionBits)
	// Output:
	// false 2
	// true
	// 64 true
}
