package world_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// ear hears the hits of each tick, by shard.
type ear struct{ heard [][]world.Envelope[Hit] }

func (e *ear) listen(b *world.Build) func(*world.Context) {
	hits := world.Receive[Hit](b)
	return func(c *world.Context) {
		for len(e.heard) <= c.Shard() {
			e.heard = append(e.heard, nil)
		}
		e.heard[c.Shard()] = slices.Clone(hits.All())
	}
}

// TestMessageOrder sends from ports and shards to entities everywhere. They are
// delivered in the next tick only, in the entity's shard: ports by number, then
// source shards, each in the order sent.
func TestMessageOrder(t *testing.T) {
	const shards, ports, each = 4, 70, 5 // more ports than one word of bits
	f := newFixture(t, world.Options{Shards: shards})
	var to []handle.Handle
	f.unit.PlaceBy(func(u Unit) int { return int(u.Points) })
	for i := range int64(shards) {
		to = append(to, f.newUnit(i))
	}
	var opened []*world.Port
	for range ports {
		opened = append(opened, f.port())
	}
	// The sender is told in the damage: 1000 times its rank, plus a number.
	send := func(by world.Actor, rank int) {
		for n := range each {
			for _, h := range to {
				require.NoError(t, f.hit.Send(by, h, Hit{int64(1000*rank + n)}))
			}
		}
	}
	r := newRand(t, 1)
	for _, i := range r.Perm(ports) { // the order in which ports send is nobody's affair
		send(opened[i], opened[i].Number())
	}
	var e ear
	f.tick(e.listen, func(*world.Build) func(*world.Context) {
		return func(c *world.Context) { send(c, ports+c.Shard()) }
	})
	for _, heard := range e.heard {
		require.Empty(t, heard, "not in the tick in which they were sent")
	}
	f.tick(e.listen)
	for shard, heard := range e.heard {
		var want []world.Envelope[Hit]
		for rank := range ports + shards {
			for n := range each {
				want = append(want, world.Envelope[Hit]{To: to[shard], Body: Hit{int64(1000*rank + n)}})
			}
		}
		require.Equal(t, want, heard)
	}
	f.tick(e.listen)
	for _, heard := range e.heard {
		require.Empty(t, heard, "delivered once")
	}
}

// TestMessageAbroad sends to entities that ports created, which are at home in no
// shard: it is the shard that holds the atom whose systems hear.
func TestMessageAbroad(t *testing.T) {
	const shards = 4
	f := newFixture(t, world.Options{Shards: shards})
	f.unit.PlaceBy(func(u Unit) int { return int(u.Points) })
	p := f.port()
	var to []handle.Handle
	for i := range int64(shards) {
		h, err := f.unit.Create(p, Unit{Health{i}})
		require.NoError(t, err)
		require.NoError(t, f.hit.Send(p, h, Hit{i}))
		to = append(to, h)
	}
	f.Refresh()
	var e ear
	f.tick(e.listen)
	for shard, heard := range e.heard {
		require.Equal(t, []world.Envelope[Hit]{{To: to[shard], Body: Hit{int64(shard)}}}, heard)
	}
}

// TestMessageFromWorld sends on the idle world: it is there in the next tick,
// behind what the last refresh delivered.
func TestMessageFromWorld(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	h, p := f.newUnit(1), f.port()
	require.NoError(t, f.hit.Send(p, h, Hit{1}))
	f.Refresh()
	require.NoError(t, f.hit.Send(f.World, h, Hit{2}))
	var e ear
	f.tick(e.listen)
	require.Equal(t, []world.Envelope[Hit]{{h, Hit{1}}, {h, Hit{2}}}, slices.Concat(e.heard...))
	f.tick(e.listen)
	require.Empty(t, slices.Concat(e.heard...))
}

// TestMessageToTheDead sends to entities that are not there when it would be
// delivered.
func TestMessageToTheDead(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 2})
	first, second := f.port(), f.port()
	var e ear

	t.Run("stale", func(t *testing.T) {
		h := f.newUnit(1)
		f.Destroy(h)
		f.Refresh()
		require.ErrorIs(t, f.hit.Send(f.World, h, Hit{}), world.ErrStale)
		f.tick(func(*world.Build) func(*world.Context) {
			return func(c *world.Context) { require.ErrorIs(t, f.hit.Send(c, h, Hit{}), world.ErrStale) }
		})
		var done world.Completion
		require.NoError(t, f.hit.Send(first.Notify(&done), h, Hit{}))
		f.Refresh()
		require.Equal(t, world.Gone, done.Outcome())
	})
	t.Run("destroyed before it, by the order of ports", func(t *testing.T) {
		h := f.newUnit(1)
		var done world.Completion
		require.NoError(t, f.hit.Send(second.Notify(&done), h, Hit{}))
		require.NoError(t, first.Destroy(h))
		f.tick(e.listen)
		require.Equal(t, world.Gone, done.Outcome())
		f.tick(e.listen)
		require.Empty(t, slices.Concat(e.heard...))
	})
	t.Run("destroyed behind it", func(t *testing.T) {
		h := f.newUnit(1)
		var done world.Completion
		require.NoError(t, f.hit.Send(first.Notify(&done), h, Hit{7}))
		require.NoError(t, second.Destroy(h))
		f.Refresh()
		require.Equal(t, world.Applied, done.Outcome(), "it was delivered")
		f.tick(e.listen)
		require.Equal(t, []world.Envelope[Hit]{{h, Hit{7}}}, slices.Concat(e.heard...))
		require.Equal(t, world.Stale, f.Status(h))
	})
	t.Run("pending, created in the same refresh", func(t *testing.T) {
		var done world.Completion
		h, err := f.unit.Create(second, Unit{})
		require.NoError(t, err)
		require.NoError(t, f.hit.Send(first.Notify(&done), h, Hit{8}), "by a port that comes before")
		f.Refresh()
		require.Equal(t, world.Applied, done.Outcome())
		f.tick(e.listen)
		require.Equal(t, []world.Envelope[Hit]{{h, Hit{8}}}, slices.Concat(e.heard...))
	})
}

// TestMessageChain lets systems answer each other through messages: each answer
// takes a tick.
func TestMessageChain(t *testing.T) {
	f := newFixture(t, world.Options{Shards: 3})
	f.unit.PlaceBy(func(u Unit) int { return int(u.Points) })
	to := f.newUnits(3)
	require.NoError(t, f.greet.Send(f.World, to[0], Greet{"1"}))
	at := -1
	for tick := 1; tick <= 10; tick++ {
		heard := 0
		f.tick(func(b *world.Build) func(*world.Context) {
			greets := world.Receive[Greet](b)
			return func(c *world.Context) {
				for _, e := range greets.All() {
					heard++
					at = c.Shard()
					n, err := strconv.Atoi(e.Body.Text)
					require.NoError(t, err)
					require.Equal(t, tick, n)
					require.NoError(t, f.greet.Send(c, to[(at+1)%3], Greet{strconv.Itoa(n + 1)}))
				}
			}
		})
		require.Equal(t, 1, heard)
		require.Equal(t, (tick-1)%3, at)
	}
}
