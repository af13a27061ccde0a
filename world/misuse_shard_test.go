package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/world"
)

// TestMisuseOfShard uses a shard while somebody else does: the check build names
// both.
func TestMisuseOfShard(t *testing.T) {
	if !check.Enabled {
		t.Skip("checked in the check build only")
	}
	f := newFixture(t, world.Options{Shards: 2})
	f.unit.PlaceBy(func(Unit) int { return 1 })
	h := f.newUnit(1)
	p := f.port()
	other := f.build(func(*world.Build) func(*world.Context) { return func(*world.Context) {} })
	says := func(who string) []string {
		return []string{"shard 1 is used by " + who + " while a friend uses it", "one goroutine at a time", "through a Port"}
	}
	leave := f.Enter(1, "a friend")
	mustPanic(t, says("Bundle.Create by the World"), func() { _, _ = f.unit.Create(f.World, Unit{}) })
	mustPanic(t, says("World.Destroy"), func() { f.Destroy(h) })
	tick := engine.Of(f.World).BeginTick()
	mustPanic(t, says(`system "mine"`), func() { engine.Of(f.World).Context(1).Acting().Start("mine", other[1].access) })
	engine.Of(f.World).Context(0).Acting().Start("mine", other[0].access)
	engine.Of(f.World).Context(0).Acting().Stop()
	leave()
	engine.Of(f.World).Context(1).Acting().Start("mine", other[1].access)
	engine.Of(f.World).Context(1).Acting().Stop()
	tick.End(serial)

	require.NoError(t, f.health.Set(p, h, Health{3}))
	leave = f.Enter(1, "a friend")
	mustPanic(t, says("step apply of the refresh"), f.Refresh)
	leave()
}
