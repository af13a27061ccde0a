package snapshot_test

import (
	"fmt"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/world"
)

type exampleDoor struct{ Key handle.Handle }

func doors() (*world.World, *world.Bundle[struct{ exampleDoor }]) {
	w := world.MustNew(world.Options{})
	world.Register[exampleDoor](w, "door")
	return w, world.NewBundle[struct{ exampleDoor }](w)
}

// A piece is inserted twice: each door has a key of its own.
func ExampleInsert() {
	zone, made := doors()
	key, _ := made.Create(zone, struct{ exampleDoor }{})
	door, _ := made.Create(zone, struct{ exampleDoor }{exampleDoor{key}})

	piece, _ := snapshot.ExtractAll(zone, snapshot.ExtractOptions{})
	w, _ := doors()
	for range 2 {
		in, err := snapshot.Insert(w, piece, snapshot.InsertOptions{})
		opens := world.Read[exampleDoor](w).Get(in.Handle(door)).Key
		fmt.Println(err, in.Len(), in.Cut, opens == in.Handle(key))
	}
	// Output:
	// <nil> 2 0 true
	// <nil> 2 0 true
}

// All yields whom a piece has become, here to count them by shard.
func ExampleInserted() {
	zone, made := doors()
	_ = made.CreateN(zone, 100, nil)
	w := world.MustNew(world.Options{Shards: 3})
	world.Register[exampleDoor](w, "door")
	piece, _ := snapshot.ExtractAll(zone, snapshot.ExtractOptions{})
	in, _ := snapshot.Insert(w, piece, snapshot.InsertOptions{Shard: 2})
	for _, h := range in.All() {
		shard, _ := w.Owner(h)
		fmt.Println(in.Len(), "entities, the first in shard", shard)
		break
	}
	// Output:
	// 100 entities, the first in shard 2
}
