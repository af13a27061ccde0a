package world_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// Types that nobody registers.
type (
	Unknown        struct{}
	UnknownMessage struct{}
)

// TestMisusePanics does everything that a caller must not do. Each panic has the
// package's prefix, names the culprit, and says what to do.
func TestMisusePanics(t *testing.T) {
	type withUnknown struct {
		Position
		Extra Unknown
	}
	type twice struct {
		A Position
		B Position
	}
	for _, test := range []struct {
		name string
		run  func(f *fixture)
		says []string
	}{
		{"component without a name", func(f *fixture) { world.Register[Unknown](f.World, "") },
			[]string{"world_test.Unknown", "needs a name"}},
		{"component type twice", func(f *fixture) { world.Register[Position](f.World, "other") },
			[]string{"world_test.Position", "registered already", `"position"`}},
		{"component name twice", func(f *fixture) { world.Register[Unknown](f.World, "position") },
			[]string{`"position"`, "taken by world_test.Position"}},
		{"message without a name", func(f *fixture) { world.RegisterMessage[Unknown](f.World, "") },
			[]string{"world_test.Unknown", "needs a name"}},
		{"message type twice", func(f *fixture) { world.RegisterMessage[Hit](f.World, "other") },
			[]string{"world_test.Hit", "registered already"}},
		{"component of an accessor", func(f *fixture) { world.Read[Unknown](f.World) },
			[]string{"Read: world_test.Unknown", "call world.Register[world_test.Unknown] first"}},
		{"component of a writer", func(f *fixture) { world.Write[Unknown](f.World) },
			[]string{"Write: world_test.Unknown", "call world.Register[world_test.Unknown] first"}},
		{"component of a filter", func(f *fixture) { world.With[Unknown](f.World) },
			[]string{"With: world_test.Unknown", "call world.Register[world_test.Unknown] first"}},
		{"component of a negative filter", func(f *fixture) { world.Without[Unknown](f.World) },
			[]string{"Without: world_test.Unknown", "call world.Register[world_test.Unknown] first"}},
		{"component of a foreign reader", func(f *fixture) {
			world.ReadForeign[Unknown]((*world.Build)(engine.Of(f.World).NewBuild(0, "spy")))
		}, []string{`system "spy", world.ReadForeign: world_test.Unknown`, "call world.Register[world_test.Unknown] first"}},
		{"message of a receiver", func(f *fixture) {
			world.Receive[UnknownMessage]((*world.Build)(engine.Of(f.World).NewBuild(0, "ear")))
		}, []string{`system "ear", world.Receive: world_test.UnknownMessage`, "call world.RegisterMessage[world_test.UnknownMessage] first"}},
		{"bundle of an unknown component", func(f *fixture) { world.NewBundle[withUnknown](f.World) },
			[]string{"world_test.withUnknown, field Extra", "world_test.Unknown", "call world.Register[world_test.Unknown] first"}},
		{"bundle with a component twice", func(f *fixture) { world.NewBundle[twice](f.World) },
			[]string{"world_test.twice", `"position" twice`, "field B"}},
		{"bundle that is no struct", func(f *fixture) { world.NewBundle[int](f.World) },
			[]string{"bundle int is not a struct", "make one"}},
		{"bundle that is a component", func(f *fixture) { world.NewBundle[Position](f.World) },
			[]string{"bundle world_test.Position is itself a component", "struct{ world_test.Position }"}},
		{"query with a component twice", func(f *fixture) {
			f.Query(world.Read[Position](f.World), world.Write[Position](f.World))
		}, []string{"World.Query", `"position" is named twice`}},
		{"query with and without", func(f *fixture) {
			f.Query(world.Read[Position](f.World), world.Without[Position](f.World))
		}, []string{`"position" is named twice`}},
		{"query with and optional", func(f *fixture) {
			f.Query(world.With[Position](f.World), world.Optional(world.Read[Position](f.World)))
		}, []string{`"position" is named twice`}},
		{"query of a system with a component twice", func(f *fixture) {
			b := (*world.Build)(engine.Of(f.World).NewBuild(0, "double"))
			b.Query(world.Read[Position](b), world.With[Position](b))
		}, []string{`system "double", Build.Query`, `"position" is named twice`}},
		{"optional filter", func(f *fixture) { world.Optional(world.Without[Position](f.World)) },
			[]string{"Optional takes a Reader or a Writer"}},
		{"create a negative number", func(f *fixture) { _ = f.mover.CreateN(f.World, -1, nil) },
			[]string{"world_test.Mover", "cannot create -1"}},
		{"reserve a negative number", func(f *fixture) { _ = f.mover.Reserve(f.World, -1) },
			[]string{"world_test.Mover", "cannot reserve -1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			mustPanic(t, test.says, func() { test.run(newFixture(t, world.Options{Shards: 2})) })
		})
	}
}

// TestMisuseOtherWorld hands things of one world to another.
func TestMisuseOtherWorld(t *testing.T) {
	mine, other := newFixture(t, world.Options{}), newFixture(t, world.Options{})
	h := mine.newUnit(1)
	p := mine.port()
	for _, test := range []struct {
		name string
		run  func()
		says []string
	}{
		{"bundle by World", func() { _, _ = other.unit.Create(mine.World, Unit{}) }, []string{"bundle", "world_test.Unit", "*world.World"}},
		{"bundle by Port", func() { _, _ = other.unit.Create(p, Unit{}) }, []string{"bundle", "world_test.Unit", "*world.Port"}},
		{"bundle in numbers", func() { _ = other.unit.CreateN(mine.World, 2, nil) }, []string{"bundle", "world_test.Unit"}},
		{"bundle reserved", func() { _ = other.unit.Reserve(mine.World, 2) }, []string{"bundle", "world_test.Unit"}},
		{"bundle declared", func() { (*world.Build)(engine.Of(mine.World).NewBuild(0, "x")).Creates(other.unit) }, []string{"bundle", "world_test.Unit"}},
		{"component by World", func() { _ = other.health.Set(mine.World, h, Health{}) }, []string{"component", `"health"`, "*world.World"}},
		{"component by Port", func() { _ = other.health.Set(p, h, Health{}) }, []string{"component", `"health"`, "*world.Port"}},
		{"component asked for", func() { mine.Has(h, other.health) }, []string{"component", `"health"`}},
		{"component added", func() { _ = other.name.Add(mine.World, h, Name{}) }, []string{"component", `"name"`, "*world.World"}},
		{"component added by Port", func() { _ = other.name.Add(p, h, Name{}) }, []string{"component", `"name"`, "*world.Port"}},
		{"component removed", func() { _ = other.health.Remove(mine.World, h) }, []string{"component", `"health"`, "*world.World"}},
		{"bundle added", func() { _ = other.mover.Add(mine.World, h, Mover{}) }, []string{"bundle", "world_test.Mover", "*world.World"}},
		{"bundle exchanged by Port", func() { _ = other.mover.Add(p, h, Mover{}) }, []string{"bundle", "world_test.Mover", "*world.Port"}},
		{"part exchanged", func() { _ = mine.mover.Add(mine.World, h, Mover{}, other.health) }, []string{"component", `"health"`}},
		{"bundle exchanged away", func() { _ = mine.mover.Add(p, h, Mover{}, other.unit) }, []string{"bundle", "world_test.Unit"}},
		{"bundle in rows", func() { _ = other.unit.CreateRows(mine.World, 2, func(world.Chunk) {}) }, []string{"bundle", "world_test.Unit"}},
		{"bundle appended", func() { _, _ = other.unit.AppendN(nil, p, 2, nil) }, []string{"bundle", "world_test.Unit", "*world.Port"}},
		{"message by World", func() { _ = other.hit.Send(mine.World, h, Hit{}) }, []string{"message", `"hit"`, "*world.World"}},
		{"message by Port", func() { _ = other.hit.Send(p, h, Hit{}) }, []string{"message", `"hit"`, "*world.Port"}},
		{"in a system", func() {
			mine.tick(func(*world.Build) func(*world.Context) {
				return func(c *world.Context) { _ = other.hit.Send(c, h, Hit{}) }
			})
		}, []string{"message", `"hit"`, "*world.Context"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			mustPanic(t, append(test.says, "another world"), test.run)
		})
	}
	mine.Refresh()
	require.Equal(t, 1, mine.Count(), "nothing came of it")
}

// TestMisuseInLoop calls what would move rows while a query walks them.
func TestMisuseInLoop(t *testing.T) {
	f := newFixture(t, world.Options{})
	f.newUnits(2)
	q := f.Query(world.Read[Health](f.World))
	for name, run := range map[string]func(){
		"World.Refresh": f.Refresh, "World.Clear": f.Clear, "a new tick": func() { engine.Of(f.World).BeginTick() },
	} {
		t.Run(name, func(t *testing.T) {
			for range q.Chunks() {
				mustPanic(t, []string{name + " inside a query loop", "call it after the loop"}, run)
				break
			}
			f.Refresh() // the loop is over, by break
		})
	}
	func() {
		defer func() { require.NotNil(t, recover()) }()
		for range q.Chunks() {
			panic("leaves the loop")
		}
	}()
	f.Refresh() // the loop is over, by panic
	require.Equal(t, 2, f.Count())
}

// TestMisuseWhileTickRuns calls what only an idle world allows.
func TestMisuseWhileTickRuns(t *testing.T) {
	f := newFixture(t, world.Options{})
	h := f.newUnit(1)
	q := f.Query(world.Read[Health](f.World))
	calls := map[string]func(){
		"World.Status": func() { f.Status(h) }, "World.Has": func() { f.Has(h, f.health) }, "World.Count": func() { f.Count() },
		"World.Refresh": f.Refresh, "World.Clear": f.Clear, "World.Query": func() { f.Query() }, "Query.Chunks": func() {
			for range q.Chunks() {
				t.Error("walked")
			}
		},
		"Query.Count": func() { q.Count() }, "World.Stats": func() { f.stats() }, "Component.Set by the World": func() { _ = f.health.Set(f.World, h, Health{}) },
		"Bundle.Create by the World": func() { _, _ = f.unit.Create(f.World, Unit{}) }, "Message.Send by the World": func() { _ = f.hit.Send(f.World, h, Hit{}) },
		"world.Register": func() { world.Register[Unknown](f.World, "unknown") }, "world.NewBundle": func() { world.NewBundle[Unit](f.World) },
		"world.RegisterMessage": func() { world.RegisterMessage[Unknown](f.World, "unknown") }, "world.Read": func() { world.Read[Health](f.World) },
		"building a system": func() { engine.Of(f.World).NewBuild(0, "late") }, "Bundle.Reserve": func() { _ = f.unit.Reserve(f.World, 1) },
		"Bundle.PlaceBy": func() { f.unit.PlaceBy(nil) },
	}
	if check.Enabled {
		calls["World.Destroy"] = func() { f.Destroy(h) }
	}
	tick := engine.Of(f.World).BeginTick()
	for call, run := range calls {
		t.Run(call, func(t *testing.T) {
			mustPanic(t, []string{call + " while a tick runs", "elsewhere a Port or a Frame"}, run)
		})
	}
	mustPanic(t, []string{"a new tick while a tick runs"}, func() { engine.Of(f.World).BeginTick() })
	require.True(t, f.Alive(h), "Alive is safe at any time")
	tick.End(serial)
	require.Equal(t, 1, f.Count())
}

// mustPanic runs f, which must panic in the name of the package with a text
// that has all of the parts.
func mustPanic(t testing.TB, parts []string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		v := recover()
		require.NotNil(t, v, "no panic")
		text := fmt.Sprint(v)
		require.Regexp(t, "^world: ", text)
		for _, part := range parts {
			require.Contains(t, text, part)
		}
	}()
	f()
}
