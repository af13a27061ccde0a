package prefab_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// An Orc holds weapons, and wields one.
type (
	Health   struct{ Points, Max int }
	Damage   struct{ Points int }
	Wielding struct{ Weapon handle.Handle }
	At       struct{ X, Y int }
)

// camp is a world for orcs.
type camp struct {
	w        *world.World
	health   *world.Component[Health]
	damage   *world.Component[Damage]
	wielding *world.Component[Wielding]
	at       *world.Component[At]
	holds    *hierarchy.Relation
}

func newCamp() camp {
	w := world.MustNew(world.Options{})
	return camp{
		w, world.Register[Health](w, "health"), world.Register[Damage](w, "damage"), world.Register[Wielding](w, "wielding"),
		world.Register[At](w, "at"), hierarchy.New(w, "holds", hierarchy.Options{}),
	}
}

// orc is a prefab of an orc that wields an axe.
func (c camp) orc() *prefab.Prefab {
	axe := prefab.New(c.w, "axe", prefab.With(c.damage, Damage{3}))
	return prefab.New(c.w, "orc",
		prefab.With(c.health, Health{10, 10}),
		prefab.With(c.at, At{}),
		prefab.With(c.wielding, Wielding{prefab.Local(1)}),
		prefab.Child(c.holds, 0, prefab.Extends(axe)))
}

func (c camp) show(h handle.Handle) {
	weapon := world.Read[Wielding](c.w).Get(h).Weapon
	fmt.Println(*world.Read[Health](c.w).Get(h), *world.Read[At](c.w).Get(h), *world.Read[Damage](c.w).Get(weapon),
		c.holds.Read(c.w).Parent(weapon) == h)
}

func ExampleNew() {
	c := newCamp()
	orc := c.orc()
	h, err := orc.Create(c.w, prefab.With(c.at, At{3, 4}))
	fmt.Println(err)
	c.show(h)
	// Output:
	// <nil>
	// {10 10} {3 4} {3} true
}

// A system says that it creates from a prefab. The children have their parent at the end of the
// tick.
func ExamplePrefab() {
	c := newCamp()
	orc := c.orc()
	s := scheduler.New(c.w, scheduler.Options{})
	s.MustAdd("spawn", func(b *world.Build) func(*world.Context) {
		b.Creates(orc)
		return func(x *world.Context) {
			if x.Shard() == 0 {
				_, _ = orc.Create(x)
			}
		}
	})
	_ = s.Step(context.Background())
	fmt.Println(orc.Name(), orc.Len(), c.w.Count(), c.holds.Links())
	// Output:
	// orc 2 2 1
}

// A port makes each instance in one step, and waits for room if its queue is full.
func ExamplePrefab_CreateN() {
	c := newCamp()
	orc := c.orc()
	port, _ := c.w.OpenPort()
	made, err := orc.CreateN(port, 3, func(i int, x *prefab.Instance) {
		x.Set(0, prefab.With(c.at, At{i, 0}))
	})
	fmt.Println(made, err)
	c.w.Refresh()
	fmt.Println(c.w.Count(), c.holds.Links())
	// Output:
	// 3 <nil>
	// 6 3
}

func ExamplePrefab_Append() {
	c := newCamp()
	hs, _ := c.orc().Append(nil, c.w)
	fmt.Println(len(hs), c.holds.Read(c.w).At(hs[0], 0) == hs[1])
	// Output:
	// 2 true
}

func ExamplePrefab_Entity() {
	c := newCamp()
	all, _ := prefab.Load(c.w, fstest.MapFS{"orc.json": {Data: []byte(`{
		"orc": {"children": [{"relation": "holds", "name": "axe"}]}
	}`)}}, "*.json", c.holds)
	fmt.Println(all["orc"].Entity("axe"))
	// Output:
	// 1 true
}

// Each instance may have other values, in any of its entities.
func ExampleInstance() {
	c := newCamp()
	_, _ = c.orc().CreateN(c.w, 2, func(i int, x *prefab.Instance) {
		x.Set(0, prefab.With(c.health, Health{5 + i, 10}))
		x.Set(1, prefab.With(c.damage, Damage{i}))
	})
	for ch := range c.w.Query(world.With[Health](c.w)).Chunks() {
		for _, h := range ch.Handles() {
			c.show(h)
		}
	}
	// Output:
	// {5 10} {0 0} {0} true
	// {6 10} {0 0} {1} true
}

func ExampleWith() {
	c := newCamp()
	axe := prefab.New(c.w, "axe", prefab.With(c.damage, Damage{3}))
	h, _ := axe.Create(c.w, prefab.With(c.damage, Damage{4}))
	fmt.Println(*world.Read[Damage](c.w).Get(h))
	// Output:
	// {4}
}

func ExampleChild() {
	c := newCamp()
	quiver := prefab.New(c.w, "quiver",
		prefab.Child(c.holds, -1, prefab.With(c.damage, Damage{1})),
		prefab.Child(c.holds, -1, prefab.With(c.damage, Damage{2})))
	h, _ := quiver.Create(c.w)
	for arrow := range c.holds.Read(c.w).Each(h) {
		fmt.Println(*world.Read[Damage](c.w).Get(arrow))
	}
	// Output:
	// {1}
	// {2}
}

func ExampleExtends() {
	c := newCamp()
	chief := prefab.New(c.w, "chief", prefab.Extends(c.orc()), prefab.With(c.health, Health{30, 30}))
	h, _ := chief.Create(c.w)
	c.show(h)
	// Output:
	// {30 30} {0 0} {3} true
}

func ExampleIn() {
	c := newCamp()
	h, _ := c.orc().Create(c.w, prefab.In(2))
	fmt.Println(c.w.Owner(h))
	// Output:
	// 2 true
}

// One call sets a child, and returns the handles of all that it makes.
func ExampleFor() {
	c := newCamp()
	hs, err := c.orc().Append(nil, c.w, prefab.With(c.at, At{3, 4}), prefab.For(1, prefab.With(c.damage, Damage{5})))
	fmt.Println(*world.Read[Damage](c.w).Get(hs[1]), err)
	c.show(hs[0])
	// Output:
	// {5} <nil>
	// {10 10} {3 4} {5} true
}

// A handle of Local in a value stands for an entity of the same prefab.
func ExampleLocal() {
	c := newCamp()
	pair := prefab.New(c.w, "pair", prefab.With(c.wielding, Wielding{prefab.Local(1)}), prefab.Child(c.holds, -1))
	a, _ := pair.Append(nil, c.w)
	b, _ := pair.Append(nil, c.w)
	fmt.Println(world.Read[Wielding](c.w).Get(a[0]).Weapon == a[1], world.Read[Wielding](c.w).Get(b[0]).Weapon == b[1])
	// Output:
	// true true
}

func ExampleLoad() {
	c := newCamp()
	files := fstest.MapFS{"orcs.json": {Data: []byte(`{
		"axe": {"components": {"damage": {"Points": 3}}},
		"orc": {
			"components": {"health": {"Points": 10, "Max": 10}, "at": {}, "wielding": {"Weapon": "$axe"}},
			"children": [{"name": "axe", "extends": "axe", "relation": "holds", "place": 0}]
		},
		"chief": {"extends": "orc", "components": {"health": {"Points": 30}}}
	}`)}}
	all, err := prefab.Load(c.w, files, "*.json", c.holds)
	fmt.Println(len(all), err)
	chief, ok := all["chief"] // when the program starts: a nil Prefab would panic in Create
	if !ok {
		fmt.Println("the files have no chief")
		return
	}
	h, _ := chief.Create(c.w)
	c.show(h)
	_, ok = all["cheif"]
	fmt.Println(ok)
	files["orcs.json"].Data = []byte(`{
		"orc": {"components": {"health": {"Pionts": 10}}}
	}`)
	_, err = prefab.Load(c.w, files, "*.json", c.holds)
	fmt.Println(err)
	// Output:
	// 3 <nil>
	// {30 10} {0 0} {3} true
	// false
	// prefab: orcs.json:2: orc.components.health: prefab_test.Health has no field "Pionts" that is exported
}

// A copy wields its own axe.
func ExampleCopy() {
	c := newCamp()
	h, _ := c.orc().Create(c.w)
	twin, _ := prefab.Copy(c.w, h, c.holds)
	c.show(twin)
	fmt.Println(world.Read[Wielding](c.w).Get(h).Weapon == world.Read[Wielding](c.w).Get(twin).Weapon)
	// Output:
	// {10 10} {0 0} {3} true
	// false
}
