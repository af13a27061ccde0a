package guide_test

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

type (
	Strength  struct{ Points int }
	Sharpness struct{ Points int }
	// Wields names what somebody fights with.
	Wields struct{ Weapon handle.Handle }
)

func Example_prefabs() {
	w := world.MustNew(world.Options{})
	strength, sharpness := world.Register[Strength](w, "strength"), world.Register[Sharpness](w, "sharpness")
	wields := world.Register[Wields](w, "wields")
	holds := hierarchy.New(w, "holds", hierarchy.Options{})
	s := scheduler.New(w, scheduler.Options{})

	axe := prefab.New(w, "axe", prefab.With(sharpness, Sharpness{3}))
	orc := prefab.New(w, "orc",
		prefab.With(strength, Strength{10}),
		prefab.With(wields, Wields{prefab.Local(1)}), // its first child
		prefab.Child(holds, 0, prefab.Extends(axe)))
	chief := prefab.New(w, "chief", prefab.Extends(orc), prefab.With(strength, Strength{30}))

	h, _ := chief.Create(w)
	weapon := world.Read[Wields](w).Get(h).Weapon
	fmt.Println(world.Read[Strength](w).Get(h).Points, holds.Read(w).Parent(weapon) == h)

	s.MustAdd("raid", func(b *world.Build) func(*world.Context) {
		b.Creates(orc)
		return func(c *world.Context) {
			_, _ = orc.Create(c, prefab.With(strength, Strength{5 + c.Shard()}))
		}
	})
	_ = s.Step(context.Background())
	fmt.Println(w.Count(), holds.Links())

	files := fstest.MapFS{"orcs.json": {Data: []byte(`{
		"axe": {"components": {"sharpness": {"Points": 3}}},
		"orc": {
			"components": {"strength": {"Points": 10}, "wields": {"Weapon": "$axe"}},
			"children": [{"name": "axe", "extends": "axe", "relation": "holds", "place": 0}]
		},
		"chief": {"extends": "orc", "components": {"strength": {"Pionts": 30}}}
	}`)}}
	_, err := prefab.Load(w, files, "*.json", holds)
	fmt.Println(err)

	twin, _ := prefab.Copy(w, h, holds)
	fmt.Println(world.Read[Wields](w).Get(twin).Weapon == weapon, holds.Links())
	// Output:
	// 30 true
	// 10 5
	// prefab: orcs.json:7: chief.components.strength: guide_test.Strength has no field "Pionts" that is exported
	// false 6
}
