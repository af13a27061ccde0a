package reference_test

import (
	"encoding/json"
	"fmt"

	"github.com/atoll-sim/atoll/ext/reference"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// newUnits is a world with one unit.
func newUnits() (w *world.World, units *world.Bundle[Unit], first handle.Handle) {
	w = world.MustNew(world.Options{})
	world.Register[Health](w, "health")
	units = world.NewBundle[Unit](w)
	first, _ = units.Create(w, Unit{Health{100}})
	return w, units, first
}

// A weak reference answers for its entity for as long as that lives.
func ExampleTo() {
	w, _, h := newUnits()
	target := reference.To(w, h)
	fmt.Println(target.Get())
	w.Destroy(h)
	w.Refresh()
	fmt.Println(target.Get())
	// Output:
	// 0:0@1 true
	// none false
}

// References are equal if they name the same entity of the same world; an empty
// one equals nothing. Destroying empties the variable at once.
func ExampleWeak() {
	w, units, h := newUnits()
	other, _ := units.Create(w, Unit{})
	target, same := reference.To(w, h), reference.To(w, h)
	fmt.Println(target.Equal(same), target.Equal(reference.To(w, other)))

	fmt.Println(target.Destroy(), target.Alive(), same.Alive())
	w.Refresh()
	fmt.Println(same.Alive(), w.Alive(other))
	// Output:
	// true false
	// true false true
	// false true
}

// A saved reference is bound to its world when it is loaded.
func ExampleWeak_Bind() {
	w, _, h := newUnits()
	data, _ := json.Marshal(map[string]reference.Weak{"target": reference.To(w, h)})
	fmt.Println(string(data))

	var loaded map[string]reference.Weak
	_ = json.Unmarshal(data, &loaded)
	target := loaded["target"]
	fmt.Println(target.Alive(), target.Bind(w), target.Alive())
	// Output:
	// {"target":"0:0@1"}
	// false true true
}

// An owner that is forgotten instead of released is told of; here it is released.
func ExampleOwn() {
	w, _, h := newUnits()
	owner := reference.Own(w, h, func(h handle.Handle) { fmt.Println("somebody forgot", h) })
	fmt.Println(owner.Handle(), owner.Alive(), owner.Shares())
	owner.Release()
	w.Refresh()
	fmt.Println(w.Alive(h))
	// Output:
	// 0:0@1 true 1
	// false
}

// Owners share an entity; it goes when the last of them lets go.
func ExampleOwner() {
	w, _, h := newUnits()
	first := reference.Own(w, h, nil)
	second := first.Clone()
	fmt.Println(first.Shares())

	first.Release() // from any goroutine
	w.Refresh()
	fmt.Println(second.Alive(), second.Shares())

	second.Release()
	w.Refresh()
	fmt.Println(w.Alive(h))
	// Output:
	// 2
	// true 1
	// false
}
