package guide_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/reference"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

type (
	Weight struct{ Tons int }
	Crate  struct{ Weight }
)

func Example_hierarchy() {
	w, ships := newSea()
	world.Register[Weight](w, "weight")
	crates := world.NewBundle[Crate](w)
	aboard := hierarchy.New(w, "aboard", hierarchy.Options{OnParentDeath: hierarchy.Destroy})

	ship, _ := ships.Create(w, Ship{})
	barge, _ := ships.Create(w, Ship{})
	tea, _ := crates.Create(w, Crate{Weight{2}})
	rum, _ := crates.Create(w, Crate{Weight{3}})
	_ = aboard.AddChildren(w, ship, tea, rum)

	read := aboard.Read(w)
	tons := 0
	weights := world.Read[Weight](w)
	for crate := range read.Each(ship) {
		tons += weights.Get(crate).Tons
	}
	fmt.Println(read.Count(ship), "crates of", tons, "tons;", read.Parent(tea) == ship)

	port, _ := w.OpenPort()
	_ = port.Destroy(ship)
	_ = aboard.Move(port, rum, barge) // saved
	w.Refresh()
	fmt.Println(w.Alive(ship), w.Alive(tea), w.Alive(rum))
	// Output:
	// 2 crates of 5 tons; true
	// false false true
}

func Example_weak() {
	w, ships := newSea()
	h, _ := ships.Create(w, Ship{})

	target := reference.To(w, h)
	fmt.Println(target.Get())

	saved, _ := json.Marshal(target)
	var loaded reference.Weak
	_ = json.Unmarshal(saved, &loaded)
	fmt.Println(string(saved), loaded.Bind(w), loaded.Equal(target))

	w.Destroy(h)
	w.Refresh()
	fmt.Println(target.Get())
	// Output:
	// 0:0@1 true
	// "0:0@1" true true
	// none false
}

func Example_owner() {
	w, ships := newSea()
	s := scheduler.New(w, scheduler.Options{})
	h, _ := ships.Create(w, Ship{})

	session := reference.Own(w, h, nil)
	trade := session.Clone() // for another goroutine

	session.Release() // the player leaves
	_ = s.Step(context.Background())
	fmt.Println(w.Alive(h))
	trade.Release() // and the trade is done
	_ = s.Step(context.Background())
	fmt.Println(w.Alive(h))
	// Output:
	// true
	// false
}
