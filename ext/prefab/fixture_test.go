package prefab_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/ext/prefab"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Components of the tests.
type (
	health struct{ Points, Max int }
	damage struct{ Points int }
	wields struct{ Weapon, Other handle.Handle }
	notes  struct {
		Text string
		Of   []handle.Handle
	}
	place struct{ X, Y int32 }
)

// fixture is a world with the components, two relations and a function.
type fixture struct {
	t       testing.TB
	w       *world.World
	health  *world.Component[health]
	damage  *world.Component[damage]
	wields  *world.Component[wields]
	notes   *world.Component[notes]
	place   *world.Component[place]
	holds   *hierarchy.Relation // children die with the parent
	carries *hierarchy.Relation // four places; children are orphans
	sched   *scheduler.Scheduler
}

func newFixture(t testing.TB, o world.Options) *fixture {
	t.Helper()
	w, err := world.New(o)
	require.NoError(t, err)
	return &fixture{
		t: t, w: w,
		health: world.Register[health](w, "health"), damage: world.Register[damage](w, "damage"),
		wields: world.Register[wields](w, "wields"), notes: world.Register[notes](w, "notes"), place: world.Register[place](w, "place"),
		holds:   hierarchy.New(w, "holds", hierarchy.Options{}),
		carries: hierarchy.New(w, "carries", hierarchy.Options{OnParentDeath: hierarchy.Orphan, Places: 4}),
		sched:   scheduler.New(w, scheduler.Options{}),
	}
}

func (f *fixture) tick() {
	f.t.Helper()
	require.NoError(f.t, f.sched.Step(context.Background()))
}

// axe and orc are prefabs: an orc wields the axe that it holds.
func (f *fixture) orc() *prefab.Prefab {
	axe := prefab.New(f.w, "axe", prefab.With(f.damage, damage{3}), prefab.With(f.place, place{}))
	return prefab.New(f.w, "orc",
		prefab.With(f.health, health{10, 10}),
		prefab.With(f.wields, wields{Weapon: prefab.Local(1)}),
		prefab.With(f.notes, notes{"orc", []handle.Handle{prefab.Local(0), prefab.Local(2)}}),
		prefab.Child(f.holds, 0, prefab.Extends(axe), prefab.With(f.damage, damage{5})),
		prefab.Child(f.carries, 2, prefab.Extends(axe), prefab.With(f.wields, wields{Other: prefab.Local(0)})),
	)
}

func get[C any](f *fixture, h handle.Handle) C {
	f.t.Helper()
	v := world.Read[C](f.w).Get(h)
	require.NotNil(f.t, v, "%v lacks a %T", h, *new(C))
	return *v
}

// mustBeOrc requires that there is an orc as the prefab has it.
func (f *fixture) mustBeOrc(h handle.Handle) {
	f.t.Helper()
	require.True(f.t, f.w.Alive(h))
	axe, spare := f.holds.Read(f.w).At(h, 0), f.carries.Read(f.w).At(h, 2)
	require.True(f.t, f.w.Alive(axe) && f.w.Alive(spare))
	require.Equal(f.t, 1, f.holds.Read(f.w).Count(h))
	require.Equal(f.t, 4, len(f.carries.Read(f.w).Children(h)))
	require.Equal(f.t, health{10, 10}, get[health](f, h))
	require.Equal(f.t, wields{Weapon: axe}, get[wields](f, h))
	require.Equal(f.t, notes{"orc", []handle.Handle{h, spare}}, get[notes](f, h))
	require.Equal(f.t, damage{5}, get[damage](f, axe))
	require.Equal(f.t, damage{3}, get[damage](f, spare))
	require.Equal(f.t, wields{Other: h}, get[wields](f, spare))
}
