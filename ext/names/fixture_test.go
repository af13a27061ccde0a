package names_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/names"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// ID is a component that all of the tests' entities have.
type ID struct{ Number int }

// Thing is their bundle.
type Thing struct{ ID }

// fixture is a world with names.
type fixture struct {
	*world.World
	names  *names.Names[string]
	things *world.Bundle[Thing]
	t      testing.TB
}

func newFixture(t testing.TB, shards int, o names.Options) *fixture {
	t.Helper()
	w := world.MustNew(world.Options{Shards: shards, QueueRequests: 512})
	world.Register[ID](w, "id")
	f := &fixture{World: w, t: t, things: world.NewBundle[Thing](w)}
	f.things.PlaceBy(func(v Thing) int { return v.Number % shards })
	f.names = names.New[string](w, "names", o)
	return f
}

// make creates n entities, in the shards in turn.
func (f *fixture) make(n int) []handle.Handle {
	f.t.Helper()
	all, err := f.things.AppendN(nil, f.World, n, func(i int, v *Thing) { v.Number = i })
	require.NoError(f.t, err)
	return all
}

func (f *fixture) port() *world.Port {
	f.t.Helper()
	p, err := f.OpenPort()
	require.NoError(f.t, err)
	return p
}

// has checks that an entity has a name, which finds it.
func (f *fixture) has(h handle.Handle, name string) {
	f.t.Helper()
	got, ok := f.names.NameOf(h)
	require.True(f.t, ok, "%v has no name", h)
	require.Equal(f.t, name, got)
	f.finds(name, h)
}

// finds checks whom a name finds; None for nobody.
func (f *fixture) finds(name string, want handle.Handle) {
	f.t.Helper()
	got, ok := f.names.Lookup(name)
	require.Equal(f.t, want, got)
	require.Equal(f.t, want != handle.None, ok)
}

// nameless checks that entities have no name.
func (f *fixture) nameless(hs ...handle.Handle) {
	f.t.Helper()
	for _, h := range hs {
		name, ok := f.names.NameOf(h)
		require.False(f.t, ok)
		require.Empty(f.t, name)
	}
}

// tick runs a system on the shard that has h, and then the refresh, backwards.
func (f *fixture) tick(h handle.Handle, system func(*world.Context)) {
	f.t.Helper()
	t := engine.Of(f.World).BeginTick()
	defer t.End(func(n int, f func(int)) {
		for i := n - 1; i >= 0; i-- {
			f(i)
		}
	})
	for i := range f.Shards() {
		c := (*world.Context)(engine.Of(f.World).Context(i))
		(*engine.Context)(c).Acting().Start("test", &extend.Access{})
		if c.Owns(h) {
			system(c)
		}
		(*engine.Context)(c).Acting().Stop()
	}
}

func iterations(n int) int {
	switch {
	case testing.Short():
		return n / 10
	case check.Enabled:
		return n / 3
	}
	return n
}
