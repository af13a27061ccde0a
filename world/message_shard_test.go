package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// TestMessageToShards sends to shards and entities, by each actor: every shard
// has them in the order of the senders, each in the order sent.
func TestMessageToShards(t *testing.T) {
	const shards = 3
	f := newFixture(t, world.Options{Shards: shards})
	f.unit.PlaceBy(func(u Unit) int { return int(u.Points) })
	to := f.newUnits(shards)
	p := f.port()
	send := func(by world.Actor, n int64) {
		for i := range shards {
			require.NoError(t, f.hit.Send(by, to[i], Hit{n}))
			require.NoError(t, f.hit.SendShard(by, i, Hit{n + 1}))
		}
		require.NoError(t, f.hit.Broadcast(by, Hit{n + 2}))
	}
	send(p, 10)
	f.tick(func(*world.Build) func(*world.Context) {
		return func(c *world.Context) { send(c, 100*int64(1+c.Shard())) }
	})
	send(f.World, 1000)
	var e ear
	f.tick(e.listen)
	for i, heard := range e.heard {
		var want []world.Envelope[Hit]
		for _, n := range []int64{10, 100, 200, 300, 1000} {
			want = append(want, world.Envelope[Hit]{To: to[i], Body: Hit{n}},
				world.Envelope[Hit]{To: handle.None, Body: Hit{n + 1}}, world.Envelope[Hit]{To: handle.None, Body: Hit{n + 2}})
		}
		require.Equal(t, want, heard)
	}
	f.tick(e.listen)
	require.Empty(t, e.heard[0])
}

// TestMessageToShardsRefused broadcasts without room for all: none gets it.
func TestMessageToShardsRefused(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 4, QueueRequests: 6, OutboxRequests: 3})
	p := f.port()
	require.NoError(t, f.hit.Broadcast(p, Hit{1}))
	require.ErrorIs(t, f.hit.Broadcast(p, Hit{2}), world.ErrFull)
	require.Equal(t, uint64(4), p.Rejected())
	require.Equal(t, 4, p.Waiting())
	f.tick(func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			require.ErrorIs(t, f.hit.Broadcast(c, Hit{3}), world.ErrTooLarge)
			require.NoError(t, f.hit.SendShard(c, 0, Hit{4}))
		}
	})
	var e ear
	f.tick(e.listen)
	none := handle.None
	require.Equal(t, []world.Envelope[Hit]{{none, Hit{1}}, {none, Hit{4}}, {none, Hit{4}}, {none, Hit{4}}, {none, Hit{4}}}, e.heard[0])
	require.Equal(t, []world.Envelope[Hit]{{none, Hit{1}}}, e.heard[3])

	var done world.Completion
	require.NoError(t, f.hit.SendShard(p.Notify(&done), 2, Hit{5}))
	f.Refresh()
	require.Equal(t, world.Applied, done.Outcome())
	for _, i := range []int{-1, 4} {
		mustPanic(t, []string{`message "hit" is sent to shard`, "the world has 0 to 3"}, func() { _ = f.hit.SendShard(p, i, Hit{}) })
	}
	mustPanic(t, []string{`message "hit" by a nil Actor`}, func() { _ = f.hit.Broadcast(nil, Hit{}) })
}

// TestMessageSteady sends messages between systems tick by tick: once warm,
// nothing is allocated, and the outbox's bound holds in each tick.
func TestMessageSteady(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 4, OutboxRequests: 100})
	units := f.newUnits(50)
	heard := 0
	system := f.build(func(b *world.Build) func(*world.Context) {
		hits := world.Receive[Hit](b)
		return func(c *world.Context) {
			heard += len(hits.All())
			for _, h := range units {
				if f.hit.Send(c, h, Hit{1}) != nil || f.hit.SendShard(c, 0, Hit{1}) != nil {
					panic("refused")
				}
			}
			if f.hit.Send(c, units[0], Hit{}) != world.ErrFull {
				panic("not refused")
			}
		}
	})
	round := func() { f.runTick(system) }
	for range 20 {
		round()
	}
	heard = 0
	require.LessOrEqual(t, testing.AllocsPerRun(100, round), 4.0, "the fixture's own, one for each shard")
	require.Equal(t, 101*400, heard)
}
