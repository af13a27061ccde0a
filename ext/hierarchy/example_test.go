package hierarchy_test

import (
	"context"
	"fmt"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// exampleWorld is a world of things with names.
func exampleWorld() (w *world.World, make func(name string) handle.Handle, name func(h handle.Handle) string) {
	type Name struct{ Text string }
	type Named struct{ Name }
	w = world.MustNew(world.Options{})
	world.Register[Name](w, "name")
	named, names := world.NewBundle[Named](w), world.Read[Name](w)
	make = func(text string) handle.Handle {
		h, _ := named.Create(w, Named{Name{text}})
		return h
	}
	return w, make, func(h handle.Handle) string {
		if n := names.Get(h); n != nil {
			return n.Text
		}
		return "nobody"
	}
}

// A character with a backpack, in which there are a bag and cheese. When the
// character dies, so does everything it has; what was moved out in time does not.
func ExampleRelation() {
	w, make, name := exampleWorld()
	attached := hierarchy.New(w, "attached", hierarchy.Options{OnParentDeath: hierarchy.Destroy})
	read := attached.Read(w)

	hero, backpack, bag, cheese := make("hero"), make("backpack"), make("bag"), make("cheese")
	_ = attached.AddChild(w, hero, backpack)
	_ = attached.AddChildren(w, backpack, bag, cheese)
	for h := range read.DepthFirst(hero) {
		fmt.Println(name(h), "at depth", read.Depth(h), "in", name(read.Parent(h)))
	}
	fmt.Println(attached.Move(w, hero, bag)) // into its own bag

	port, _ := w.OpenPort()
	_ = port.Destroy(hero)
	_ = attached.RemoveChild(port, cheese, hierarchy.Close) // just in time
	w.Refresh()
	fmt.Println(w.Alive(hero), w.Alive(bag), w.Alive(cheese))
	// Output:
	// backpack at depth 1 in hero
	// bag at depth 2 in backpack
	// cheese at depth 2 in backpack
	// hierarchy: would be its own ancestor: 0:0@1 → 0:1@1 → 0:2@1 → 0:0@1
	// false false true
}

// An inventory: a bag of four places, where the place is meaning. Two players want
// the same sword; the first gets it, the other is told.
func ExampleRelation_PutFrom() {
	w, make, name := exampleWorld()
	inventory := hierarchy.New(w, "inventory", hierarchy.Options{Places: 4, OnParentDeath: hierarchy.Orphan})
	ann, bob, sword := make("ann"), make("bob"), make("sword")

	first, _ := w.OpenPort()
	second, _ := w.OpenPort()
	var done world.Completion
	_ = inventory.PutFrom(first, sword, handle.None, ann, 2) // from nobody, to place 2
	_ = inventory.PutFrom(second.Notify(&done), sword, handle.None, bob, hierarchy.Free)
	w.Refresh()

	read := inventory.Read(w)
	for place, item := range read.Children(ann) {
		fmt.Println(place, name(item))
	}
	fmt.Println("bob:", done.Outcome())
	for _, refused := range read.Conflicts() {
		fmt.Println(name(refused.Entity), "to", name(refused.Other)+":", refused.Err)
	}
	// Output:
	// 0 nobody
	// 1 nobody
	// 2 sword
	// 3 nobody
	// bob: refused
	// sword to bob: hierarchy: is not where it should be taken from
}

// A system that weighs what everybody carries, wherever the items' shards are.
func ExampleRelation_Read() {
	type Weight struct{ Kilos int }
	type Load struct{ Kilos int }
	type Item struct{ Weight }
	type Carrier struct{ Load }
	w := world.MustNew(world.Options{})
	world.Register[Weight](w, "weight")
	world.Register[Load](w, "load")
	items, carriers := world.NewBundle[Item](w), world.NewBundle[Carrier](w)
	inventory := hierarchy.New(w, "inventory", hierarchy.Options{})

	mule, _ := carriers.Create(w, Carrier{})
	for i := range 40 {
		item, _ := items.Create(w, Item{Weight{i}})
		_ = inventory.AddChild(w, mule, item)
	}
	s := scheduler.New(w, scheduler.Options{})
	s.MustAdd("weigh", func(b *world.Build) func(*world.Context) {
		load, weight, carried := world.Write[Load](b), world.ReadForeign[Weight](b), inventory.Read(b)
		all := b.Query(load)
		return func(*world.Context) {
			for ch := range all.Chunks() {
				loads := load.Slice(ch)
				for i := range loads {
					loads[i].Kilos = 0
					for item := range carried.DepthFirst(ch.Handle(i)) {
						if w, ok := weight.Get(item); ok {
							loads[i].Kilos += w.Kilos
						}
					}
				}
			}
		}
	})
	_ = s.Step(context.Background())
	fmt.Println(world.Read[Load](w).Get(mule).Kilos)
	// Output: 780
}
