package hierarchy_test

import (
	"errors"
	"fmt"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/world"
)

// A relation belongs to a world, which may have several.
func ExampleNew() {
	w, make, name := exampleWorld()
	guilds := hierarchy.New(w, "guilds", hierarchy.Options{OnParentDeath: hierarchy.Orphan})
	parties := hierarchy.New(w, "parties", hierarchy.Options{})

	guild, party, ann := make("guild"), make("party"), make("ann")
	_ = guilds.AddChild(w, guild, ann)
	_ = parties.AddChild(w, party, ann)
	fmt.Println(name(guilds.Read(w).Parent(ann)), name(parties.Read(w).Parent(ann)))
	// Output: guild party
}

// A reader walks a relation in any direction.
func ExampleReader() {
	w, make, name := exampleWorld()
	attached := hierarchy.New(w, "attached", hierarchy.Options{})
	hero, backpack, bag, cheese := make("hero"), make("backpack"), make("bag"), make("cheese")
	_ = attached.AddChild(w, hero, backpack)
	_ = attached.AddChildren(w, backpack, bag, cheese)

	read := attached.Read(w)
	fmt.Println(read.Count(backpack), name(read.Children(backpack)[1]), name(read.Root(cheese)))
	place, _ := read.Place(cheese)
	fmt.Println(place, read.Depth(cheese), read.IsAncestor(hero, cheese))
	for h := range read.Ancestors(cheese) {
		fmt.Println(name(h))
	}
	// Output:
	// 2 cheese hero
	// 1 2 true
	// backpack
	// hero
}

// What two frames differ in is found without looking at all links.
func ExampleReader_Diff() {
	w := world.MustNew(world.Options{})
	world.Register[ID](w, "id")
	inventory := hierarchy.New(w, "inventory", hierarchy.Options{})
	all, _ := world.NewBundle[Thing](w).AppendN(nil, w, 4, nil)
	bag, chest, sword, coin := all[0], all[1], all[2], all[3]
	_ = inventory.AddChildren(w, bag, coin, sword)

	view, _ := w.NewView(inventory)
	before, _ := view.Now()
	defer before.Release()
	_ = inventory.Move(w, coin, chest)
	after, _ := view.Now()
	defer after.Release()
	for _, m := range inventory.Read(after).Diff(inventory.Read(before)) {
		fmt.Println(m.Child == sword, m.From.Parent == bag, m.From.Place, m.To.Parent == bag, m.To.Place)
	}
	// Output:
	// true true 1 true 0
	// false true 0 false 0
}

// A relation whose user says how much memory it gets.
func ExampleRelation_Reserve() {
	w, make, name := exampleWorld()
	options := hierarchy.Options{Memory: hierarchy.Memory{Buckets: []int{4, 16}, ManualGrowth: true}}
	crew := hierarchy.New(w, "crew", options)
	ship, ann := make("ship"), make("ann")

	fmt.Println(crew.NeedsGrowth(ship, 1), errors.Is(crew.AddChild(w, ship, ann), hierarchy.ErrRoom))
	crew.Reserve(hierarchy.Room{Entities: 1024, Parents: 8, Buckets: []int{4, 2}})
	fmt.Println(crew.NeedsGrowth(ship, 1), crew.AddChild(w, ship, ann), name(crew.Read(w).Parent(ann)))
	// Output:
	// true true
	// false <nil> ship
}

// The memory that a relation will take is known beforehand.
func ExampleMemory() {
	o := hierarchy.Memory{Buckets: []int{4, 16, 256}, ManualGrowth: true}
	room := hierarchy.Room{Entities: 1024, Parents: 8, Buckets: []int{4, 2, 2}}
	fmt.Println(o.SizeNeeded(room) < 64<<10)
	// Output: true
}

// A relation is saved by a copy of its memory, and loaded the same way.
func ExampleRelation_Load() {
	w, make, name := exampleWorld()
	files := hierarchy.New(w, "files", hierarchy.Options{Memory: hierarchy.Memory{Buckets: []int{4, 32, 256}}})
	root, etc, hosts := make("/"), make("etc"), make("hosts")
	_ = files.AddChild(w, root, etc)
	_ = files.AddChild(w, etc, hosts)
	fmt.Println(errors.Is(files.AddChild(w, root, hosts), hierarchy.ErrParent))

	image := files.Save(nil)
	_ = files.RemoveChild(w, hosts, hierarchy.Close)
	fmt.Println(files.Load(image), name(files.Read(w).Parent(hosts)), files.Read(w).Depth(hosts))

	image[len(image)/2]++
	fmt.Println(files.Load(image))
	// Output:
	// true
	// <nil> etc 2
	// hierarchy: image refused: the checksum does not match
}
