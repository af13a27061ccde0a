package hierarchy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/hierarchy"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// Weight is a component that some of the tests' entities have.
type Weight struct{ Kilos int }

type (
	Thing struct{ ID }
	Heavy struct {
		ID
		Weight
	}
	// ID is a component that all of them have.
	ID struct{ Number int }
)

// fixture is a world with a relation.
type fixture struct {
	*world.World
	rel    *hierarchy.Relation
	read   *hierarchy.Reader
	things *world.Bundle[Thing]
	heavy  *world.Bundle[Heavy]
	t      testing.TB
}

func newFixture(t testing.TB, shards int, o hierarchy.Options) *fixture {
	t.Helper()
	return newFixtureOf(t, world.Options{Shards: shards}, o)
}

func newFixtureOf(t testing.TB, of world.Options, o hierarchy.Options) *fixture {
	t.Helper()
	w := world.MustNew(of)
	shards := w.Shards()
	world.Register[ID](w, "id")
	world.Register[Weight](w, "weight")
	f := &fixture{World: w, t: t, things: world.NewBundle[Thing](w), heavy: world.NewBundle[Heavy](w)}
	f.things.PlaceBy(func(v Thing) int { return v.Number % shards })
	f.rel = hierarchy.New(w, "relation", o)
	f.read = f.rel.Read(w)
	return f
}

// make creates n entities, in the shards in turn.
func (f *fixture) make(n int) []handle.Handle {
	f.t.Helper()
	all, err := f.things.AppendN(nil, f.World, n, func(i int, v *Thing) { v.Number = i })
	require.NoError(f.t, err)
	return all
}

// add makes children of a parent, by the idle world.
func (f *fixture) add(parent handle.Handle, children ...handle.Handle) {
	f.t.Helper()
	require.NoError(f.t, f.rel.AddChildren(f.World, parent, children...))
}

// port opens a port.
func (f *fixture) port() *world.Port {
	f.t.Helper()
	p, err := f.OpenPort()
	require.NoError(f.t, err)
	return p
}

// sound checks the invariants.
func (f *fixture) sound() {
	f.t.Helper()
	require.NoError(f.t, f.rel.Verify())
}

// tick runs systems, each on all shards in order, and then the refresh.
func (f *fixture) tick(systems ...func(*world.Context)) {
	f.t.Helper()
	f.tickBy(serial, systems...)
}

func (f *fixture) tickBy(parallel extend.Parallel, systems ...func(*world.Context)) {
	f.t.Helper()
	t := engine.Of(f.World).BeginTick()
	defer t.End(parallel)
	for _, system := range systems {
		for i := range f.Shards() {
			func() {
				c := (*world.Context)(engine.Of(f.World).Context(i))
				(*engine.Context)(c).Acting().Start("test", &extend.Access{})
				defer (*engine.Context)(c).Acting().Stop()
				system(c)
			}()
		}
	}
}

// global runs a tick with one global system.
func (f *fixture) global(system func(*world.Context)) {
	f.t.Helper()
	t := engine.Of(f.World).BeginTick()
	defer t.End(serial)
	c := (*world.Context)(engine.Of(f.World).Context(world.AllShards))
	(*engine.Context)(c).Acting().Start("test", &extend.Access{})
	defer (*engine.Context)(c).Acting().Stop()
	system(c)
}

// on is a system that runs on the shard that has h.
func on(h handle.Handle, system func(*world.Context)) func(*world.Context) {
	return func(c *world.Context) {
		if c.Owns(h) {
			system(c)
		}
	}
}

// serial is a extend.Parallel that is not.
func serial(n int, f func(int)) {
	for i := range n {
		f(i)
	}
}

// backwards is a extend.Parallel that runs the last first.
func backwards(n int, f func(int)) {
	for i := n - 1; i >= 0; i-- {
		f(i)
	}
}

func list(hs ...handle.Handle) []handle.Handle { return hs }
