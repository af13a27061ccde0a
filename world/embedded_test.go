package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// What a user may well write: it promotes all that an Actor needs.
type (
	ownWorld   struct{ *world.World }
	ownContext struct{ *world.Context }
	ownPort    struct{ *world.Port }
)

// TestEmbeddedActor acts by structs that embed an Actor. Each is the actor that it embeds.
func TestEmbeddedActor(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	act := func(by world.Actor, h handle.Handle) {
		require.NoError(t, f.health.Set(by, h, Health{2}))
		require.NoError(t, f.frozen.Add(by, h, Frozen{}))
		require.NoError(t, f.mover.Add(by, h, Mover{}))
		require.NoError(t, world.AddFlags(by, h, 1))
		require.NoError(t, world.Move(by, h, 1))
		require.NoError(t, f.hit.Send(by, h, Hit{}))
		require.NoError(t, f.hit.SendShard(by, 0, Hit{}))
		require.NoError(t, f.do(by, h, func(*world.EntityContext) {}))
	}
	made, err := f.unit.Create(ownWorld{f.World}, Unit{})
	require.NoError(t, err)
	require.True(t, f.Alive(made))
	asked, err := f.unit.Create(ownPort{f.port()}, Unit{})
	require.NoError(t, err)
	require.False(t, f.Alive(asked))
	require.NoError(t, f.unit.CreateN(ownPort{f.port()}, 2, nil))
	a, b, c := f.newUnit(1), f.newUnit(1), f.newUnit(1)
	act(ownWorld{f.World}, a)
	act(ownPort{f.port()}, b)
	elsewhere, ok := f.Owner(c)
	require.True(t, ok)
	f.during("any", 1-elsewhere, func(x *world.Context) { act(ownContext{x}, c) })
	f.Refresh()
	require.Equal(t, 7, f.Count())
	for _, h := range []handle.Handle{a, b, c} {
		owner, _ := f.Owner(h)
		require.Equal(t, 1, owner)
		require.True(t, f.Has(h, f.frozen))
		require.Equal(t, world.Flags(1), world.FlagsOf(f.World, h))
	}
}
