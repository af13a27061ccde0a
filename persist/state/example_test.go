package state_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/persist/state"
	"github.com/atoll-sim/atoll/world"
)

type (
	exampleHealth struct{ Points int64 }
	exampleName   struct{ Text any }
	exampleUnit   struct{ exampleHealth }
	exampleHero   struct {
		exampleHealth
		exampleName
	}
)

// exampleUnits is a world of three units; one of them has so many points.
func exampleUnits(points int64) *world.World {
	w := world.MustNew(world.Options{})
	world.Register[exampleHealth](w, "health")
	_ = world.NewBundle[exampleUnit](w).CreateN(w, 3, func(i int, u *exampleUnit) {
		if i == 1 {
			u.Points = points
		}
	})
	w.Refresh()
	return w
}

// The same world has the same hash, wherever and whenever it was made.
func ExampleStateHash() {
	a, err := state.StateHash(exampleUnits(7), nil)
	b, _ := state.StateHash(exampleUnits(7), nil)
	c, _ := state.StateHash(exampleUnits(8), nil)
	fmt.Println(err, a == b, a == c)
	// Output: <nil> true false
}

// A hasher is for one world, tick after tick.
func ExampleNewHasher() {
	w := exampleUnits(7)
	hasher := state.NewHasher(w, nil)
	before, _ := hasher.StateHash()
	w.Refresh()
	after, _ := hasher.StateHash()
	fmt.Println(before == after) // the tick is part of it
	// Output: false
}

// Where two worlds differ, their sections say in what. What the game holds beside
// the world counts as well, if the hasher is told of it.
func ExampleHasher() {
	sections := func(points int64, season byte) []state.Section {
		hasher := state.NewHasher(exampleUnits(points), nil)
		hasher.Add("season", func(dst []byte) []byte { return append(dst, season) })
		all, _ := hasher.Sections()
		return all
	}
	one, other := sections(7, 1), sections(8, 2)
	for i := range one {
		if one[i].Hash != other[i].Hash {
			fmt.Println(one[i].Name)
		}
	}
	// Output:
	// shard 0: component "health"
	// extra "season"
}

// A hash is written as hexadecimal digits, in JSON as well.
func ExampleHash() {
	text, _ := json.Marshal(state.Hash(0x1234abcd))
	var read state.Hash
	fmt.Println(string(text), json.Unmarshal(text, &read), read == 0x1234abcd)
	// Output: "000000001234abcd" <nil> true
}

// What holds an interface, channel or function needs a codec, and others may have one.
func ExampleRegister() {
	w := world.MustNew(world.Options{})
	world.Register[exampleHealth](w, "health")
	world.Register[exampleName](w, "name")
	_, _ = world.NewBundle[exampleHero](w).Create(w, exampleHero{exampleName: exampleName{"Ann"}})
	_, err := state.StateHash(w, nil)
	fmt.Println(errors.Is(err, state.ErrNoCodec))

	var codecs state.Codecs
	state.Register(&codecs, state.Codec[exampleName]{Append: func(dst []byte, v *exampleName) []byte {
		return fmt.Append(dst, v.Text)
	}})
	_, err = state.StateHash(w, &codecs)
	fmt.Println(err)
	// Output:
	// true
	// <nil>
}

// Numbers, strings, slices and maps need no codec; a function does. The zero value has none.
func ExampleCodecs() {
	w := world.MustNew(world.Options{})
	world.Register[func()](w, "orders")
	_, err := state.StateHash(w, new(state.Codecs))
	fmt.Println(errors.Is(err, state.ErrNoCodec))
	// Output: true
}

// exampleSlot has constants that get other numbers when one is inserted.
type exampleSlot uint8

type exampleWorn struct{ In exampleSlot }

// A later program has inserted "belt". The values keep their names, not their numbers.
func ExampleRegisterEnum() {
	world1, before := world.MustNew(world.Options{}), new(state.Codecs)
	state.RegisterEnum(before, map[exampleSlot]string{0: "head", 1: "hand"})
	world.Register[exampleWorn](world1, "worn")
	_, _ = world.NewBundle[struct{ exampleWorn }](world1).Create(world1, struct{ exampleWorn }{exampleWorn{1}})
	var file bytes.Buffer
	_ = snapshot.Write(&file, world1, snapshot.Options{Codecs: before})

	world2, now := world.MustNew(world.Options{}), new(state.Codecs)
	state.RegisterEnum(now, map[exampleSlot]string{0: "head", 1: "belt", 2: "hand"})
	world.Register[exampleWorn](world2, "worn")
	err := snapshot.Load(&file, world2, snapshot.Options{Codecs: now})
	for rows := range world2.Query().Chunks() {
		fmt.Println(world.Read[exampleWorn](world2).Slice(rows)[0].In, err)
	}
	// Output: 2 <nil>
}
