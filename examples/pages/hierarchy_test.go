package pages_test

import (
	"context"
	"fmt"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

type (
	Weight  struct{ Kilos int }
	Thing   struct{ Weight }
	Burden  struct{ Kilos int }
	Carrier struct{ Burden }
)

// Weigh is a system that sums up what everybody carries.
func Weigh(inventory *hierarchy.Relation) func(b *world.Build) func(*world.Context) {
	return func(b *world.Build) func(*world.Context) {
		burden, weight := world.Write[Burden](b), world.ReadForeign[Weight](b)
		bags := inventory.Read(b)
		carriers := b.Query(burden)
		return func(c *world.Context) {
			for ch := range carriers.Chunks() {
				burdens := burden.Slice(ch)
				for i := range burdens {
					sum := 0
					for item := range bags.DepthFirst(ch.Handle(i)) {
						if w, ok := weight.Get(item); ok {
							sum += w.Kilos
						}
					}
					burdens[i].Kilos = sum
				}
			}
		}
	}
}

// The guide of docs/hierarchy.md, in one go.
func Example_hierarchy() {
	w := world.MustNew(world.Options{})
	world.Register[Weight](w, "weight")
	world.Register[Burden](w, "burden")
	things, carriers := world.NewBundle[Thing](w), world.NewBundle[Carrier](w)

	guilds := hierarchy.New(w, "guilds", hierarchy.Options{OnParentDeath: hierarchy.Orphan})
	inventory := hierarchy.New(w, "inventory", hierarchy.Options{
		OnParentDeath: hierarchy.Destroy, // what is in a bag goes with it
		OnChildDeath:  hierarchy.Hole,    // a place is nobody else's
	})

	guild, _ := carriers.Create(w, Carrier{})
	hero, _ := carriers.Create(w, Carrier{})
	bag, _ := things.Create(w, Thing{Weight{1}})
	sword, _ := things.Create(w, Thing{Weight{3}})
	cheese, _ := things.Create(w, Thing{Weight{2}})

	_ = guilds.AddChild(w, guild, hero)
	_ = inventory.AddChildren(w, hero, sword, bag)
	_ = inventory.SetPlaces(w, bag, 40) // a bag of 40 places
	_ = inventory.Put(w, cheese, bag, 7)

	bags := inventory.Read(w)
	fmt.Println(len(bags.Children(bag)), bags.Count(bag), bags.At(bag, 7) == cheese)
	fmt.Println(bags.Parent(cheese) == bag, bags.Root(cheese) == hero, bags.Depth(cheese))
	fmt.Println(inventory.Move(w, hero, cheese))

	s := scheduler.New(w, scheduler.Options{})
	s.MustAdd("weigh", Weigh(inventory))

	port, _ := w.OpenPort() // any goroutine, at any time
	var done world.Completion
	_ = port.Destroy(bag)
	_ = inventory.PutFrom(port.Notify(&done), cheese, bag, hero, hierarchy.Free)

	_ = s.Step(context.Background())
	fmt.Println(done.Outcome(), port.Alive(bag), port.Alive(cheese))
	_ = s.Step(context.Background())
	fmt.Println(world.Read[Burden](w).Get(hero).Kilos, "kilos")

	_ = inventory.PutFrom(port.Notify(&done), sword, handle.None, guild, hierarchy.Free) // it is not nobody's
	_ = s.Step(context.Background())
	for _, c := range bags.Conflicts() {
		fmt.Println(done.Outcome(), c.Entity == sword, c.Err)
	}
	// Output:
	// 40 1 true
	// true true 2
	// hierarchy: would be its own ancestor: 0:1@1 → 0:2@1 → 0:4@1 → 0:1@1
	// applied false true
	// 5 kilos
	// refused true hierarchy: is not where it should be taken from
}
