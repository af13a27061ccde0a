package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// TestAccessDeclared checks what a constructor declares by asking.
func TestAccessDeclared(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	b := (*world.Build)(engine.Of(f.World).NewBuild(1, "ask"))
	require.Equal(t, 1, b.Shard())
	world.Read[Position](b)
	world.Write[Velocity](b)
	world.ReadForeign[Health](b)
	b.Creates(f.statue, f.unit)
	b.Query(world.With[Name](b))
	a := (*engine.Build)(b).Finish()
	require.Equal(t, `"position"`, engine.Of(f.World).ComponentNames(a.Reads))
	require.Equal(t, `"position", "velocity", "health", "frozen"`, engine.Of(f.World).ComponentNames(a.Writes))
	require.Equal(t, `"health"`, engine.Of(f.World).ComponentNames(a.Foreign))
}

// TestAccessOutsideTheConstructor asks after it returned.
func TestAccessOutsideTheConstructor(t *testing.T) {
	f := newFixture(t, world.Options{})
	b := (*world.Build)(engine.Of(f.World).NewBuild(0, "late"))
	(*engine.Build)(b).Finish()
	for call, ask := range map[string]func(){
		"world.Read": func() { world.Read[Position](b) }, "world.Write": func() { world.Write[Position](b) },
		"world.With": func() { world.With[Position](b) }, "world.Without": func() { world.Without[Position](b) },
		"world.ReadForeign": func() { world.ReadForeign[Position](b) }, "world.Receive": func() { world.Receive[Hit](b) },
		"Build.Query": func() { b.Query() }, "Build.Creates": func() { b.Creates(f.unit) },
	} {
		t.Run(call, func(t *testing.T) {
			mustPanic(t, []string{`system "late" calls ` + call + " after its constructor returned", "ask for all access within it"}, ask)
		})
	}
}

// TestAccessUndeclared acts without having asked.
func TestAccessUndeclared(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	mine, other := f.newUnit(1), handle.None
	require.Equal(t, uint32(0), mine.Home())
	for other.Home() != 1 {
		other = f.newUnit(1)
	}
	n := f.Count()
	for name, test := range map[string]struct {
		ask  func(b *world.Build)
		do   func(c *world.Context)
		says []string
	}{
		"create": {
			func(b *world.Build) { b.Creates(f.mover, f.statue) },
			func(c *world.Context) { _, _ = f.unit.Create(c, Unit{}) },
			[]string{`system "test" on shard 0 creates from bundle world_test.Unit`, "call b.Creates in its constructor"},
		},
		"create in numbers": {
			func(*world.Build) {},
			func(c *world.Context) { _ = f.unit.CreateN(c, 1, nil) },
			[]string{"creates from bundle world_test.Unit", "call b.Creates"},
		},
		"set": {
			func(b *world.Build) { world.Read[Health](b); world.Write[Position](b) },
			func(c *world.Context) { _ = f.health.Set(c, mine, Health{}) },
			[]string{`system "test" on shard 0 calls Component.Set of component "health"`, "call world.Write[world_test.Health](b) in its constructor"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			mustPanic(t, test.says, func() {
				f.tick(on(0, func(b *world.Build) func(*world.Context) {
					test.ask(b)
					return test.do
				}))
			})
			require.Equal(t, n, f.Count())
			f.mustHave(1)(mine)
		})
	}
	t.Run("set elsewhere is a request", func(t *testing.T) {
		f.tick(on(0, func(*world.Build) func(*world.Context) {
			return func(c *world.Context) { require.NoError(t, f.health.Set(c, other, Health{2})) }
		}))
		f.mustHave(2)(other)
	})
	t.Run("writing a component of a bundle is enough to create from it", func(t *testing.T) {
		f.tick(func(b *world.Build) func(*world.Context) {
			world.Write[Health](b)
			return func(c *world.Context) {
				_, err := f.unit.Create(c, Unit{})
				require.NoError(t, err)
			}
		})
		require.Equal(t, n+2, f.Count())
	})
}

// TestAccessKept uses a Context after its system returned: the check build says
// so.
func TestAccessKept(t *testing.T) {
	if !check.Enabled {
		t.Skip("checked in the check build only")
	}
	f := newFixture(t, world.Options{Shards: 1})
	h := f.newUnit(1)
	var kept *world.Context
	f.tick(func(b *world.Build) func(*world.Context) {
		world.Write[Health](b)
		return func(c *world.Context) { kept = c }
	})
	for call, use := range map[string]func(){
		"Context.Destroy": func() { _ = kept.Destroy(h) }, "Message.Send": func() { _ = f.hit.Send(kept, h, Hit{}) },
		"Component.Set": func() { _ = f.health.Set(kept, h, Health{}) }, "Bundle.Create": func() { _, _ = f.unit.Create(kept, Unit{}) },
		"Component.Add": func() { _ = f.name.Add(kept, h, Name{}) }, "Component.Remove": func() { _ = f.name.Remove(kept, h) },
		"Bundle.Add": func() { _ = f.mover.Add(kept, h, Mover{}) }, "world.Copy": func() { _, _ = world.Copy(kept, h) },
	} {
		t.Run(call, func(t *testing.T) {
			mustPanic(t, []string{call + ` on shard 0 after system "test" returned`, "for the running system alone"}, use)
		})
	}
}

// TestAccessContext reads what a Context tells of itself and of entities.
func TestAccessContext(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2, TickInterval: 250_000_000})
	all := f.newUnits(100)
	f.Refresh()
	perShard := f.perShard()
	f.tick(func(b *world.Build) func(*world.Context) {
		health := world.Read[Health](b)
		return func(c *world.Context) {
			require.Equal(t, b.Shard(), c.Shard())
			require.Equal(t, 2, c.Shards())
			require.Equal(t, "test", c.System())
			require.Equal(t, uint64(1), c.Tick())
			require.InDelta(t, 0.25, c.Delta(), 0)
			require.Equal(t, perShard[c.Shard()], c.Count())
			for i, h := range all {
				mine := h.Home() == uint32(c.Shard())
				require.Equal(t, mine, c.Owns(h))
				require.True(t, c.Alive(h))
				require.Equal(t, mine, c.Has(h, f.health))
				require.False(t, c.Has(h, f.name))
				if mine {
					require.Equal(t, int64(i), health.Get(h).Points)
					require.Same(t, health.Get(h), health.At(c.Locate(h)))
				} else {
					require.Nil(t, health.Get(h), "not within reach")
					require.Nil(t, health.At(c.Locate(h)))
				}
			}
			require.False(t, c.Owns(handle.None))
			require.Nil(t, health.Get(handle.None))
		}
	})
	require.Equal(t, uint64(2), f.Tick())
}
