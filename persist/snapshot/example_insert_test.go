package snapshot_test

import (
	"errors"
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

// A guard goes to another world, with the door that he guards.
func ExampleExtract() {
	from, made := doors()
	door, _ := made.Create(from, struct{ exampleDoor }{})
	guard, _ := made.Create(from, struct{ exampleDoor }{exampleDoor{door}})
	piece, err := snapshot.Extract(from, snapshot.ExtractOptions{}, guard, door)
	fmt.Println(err, piece.Len())

	to, _ := doors()
	in, err := snapshot.Insert(to, piece, snapshot.InsertOptions{})
	if err == nil { // now he is there
		from.Destroy(guard)
		from.Destroy(door)
	}
	fmt.Println(err, world.Read[exampleDoor](to).Get(in.Handle(guard)).Key == in.Handle(door))
	// Output:
	// <nil> 2
	// <nil> true
}

// All that a world has becomes a piece.
func ExampleExtractAll() {
	zone, made := doors()
	_ = made.CreateN(zone, 3, nil)
	piece, err := snapshot.ExtractAll(zone, snapshot.ExtractOptions{})
	fmt.Println(err, piece.Len())
	// Output:
	// <nil> 3
}

// A piece is bytes: they come from a file, or from another process.
func ExampleReadPiece() {
	from, made := doors()
	door, _ := made.Create(from, struct{ exampleDoor }{})
	sent, _ := snapshot.Extract(from, snapshot.ExtractOptions{}, door)
	file := sent.Bytes()

	piece, err := snapshot.ReadPiece(file)
	fmt.Println(err, piece.Len())
	_, err = snapshot.ReadPiece(file[:len(file)-1])
	fmt.Println(errors.Is(err, snapshot.ErrAltered))
	// Output:
	// <nil> 1
	// true
}

// Another version of the program reads a piece by the names of fields.
func ExamplePiece() {
	type purse struct{ Coins int32 }
	then := world.MustNew(world.Options{})
	world.Register[purse](then, "purse")
	h, _ := world.NewBundle[struct{ purse }](then).Create(then, struct{ purse }{purse{7}})
	piece, _ := snapshot.Extract(then, snapshot.ExtractOptions{}, h)

	type purseNow struct{ Gold int64 }
	now := world.MustNew(world.Options{})
	world.Register[purseNow](now, "purse")
	_, err := snapshot.Insert(now, piece, snapshot.InsertOptions{})
	fmt.Println(errors.Is(err, snapshot.ErrOtherWorld), now.Count())
	in, err := snapshot.Insert(now, piece, snapshot.InsertOptions{
		Changes: []snapshot.Change{snapshot.RenamedField("purse", "Coins", "Gold")},
	})
	fmt.Println(err, world.Read[purseNow](now).Get(in.Handle(h)).Gold)
	// Output:
	// true 0
	// <nil> 7
}
