package scheduler_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestTransferOfAll has a Balancer move math.MaxInt entities, which stands for all, from one shard
// and from two, beside a move and a death: sums of these do not overflow.
func TestTransferOfAll(t *testing.T) {
	all := func(from ...int) balancer {
		return func(tick uint64, _ []scheduler.ShardCost, dst []scheduler.Shift) []scheduler.Shift {
			for _, shard := range from {
				if tick == 0 {
					dst = append(dst, scheduler.Shift{From: shard, To: 1, Entities: math.MaxInt})
				}
			}
			return dst
		}
	}
	for name, by := range map[string]balancer{"one": all(0), "two": all(0, 2)} {
		t.Run(name, func(t *testing.T) {
			f := newFixtureOf(t, world.Options{Shards: 3}, scheduler.Options{Workers: 1, Balancer: by})
			f.markers.PlaceBy(func(Marker) int { return 0 })
			hs, err := f.markers.AppendN(nil, f.w, 10, nil)
			require.NoError(t, err)
			port, err := f.w.OpenPort()
			require.NoError(t, err)
			var moved, died world.Completion
			require.NoError(t, world.Move(port.Notify(&moved), hs[0], 2))
			require.NoError(t, port.Notify(&died).Destroy(hs[1]))
			f.step(1)
			require.Equal(t, []world.Outcome{world.Applied, world.Applied}, []world.Outcome{moved.Outcome(), died.Outcome()})
			require.False(t, f.w.Alive(hs[1]))
			for i, h := range hs {
				if i != 1 {
					shard, _ := f.w.Owner(h)
					require.Equal(t, []int{2, 1}[min(i, 1)], shard, "%d", i)
				}
			}
			require.NoError(t, world.Move(port.Notify(&moved), hs[2], 2))
			f.step(2)
			require.Equal(t, world.Applied, moved.Outcome())
			require.Equal(t, 9, f.w.Count())
		})
	}
}

// TestKeptContextSets calls Set by a Context that is kept past its system, for an entity of
// another shard.
func TestKeptContextSets(t *testing.T) {
	f := newFixtureOf(t, world.Options{Shards: 2}, scheduler.Options{Workers: 1})
	value := world.Register[kept](f.w, "kept")
	h := f.mark()[1]
	var first *world.Context
	f.MustAdd("keeps", func(b *world.Build) func(*world.Context) {
		return func(c *world.Context) {
			if c.Shard() == 0 {
				first = c
			}
		}
	})
	f.step(1)
	require.PanicsWithValue(t, `world: Component.Set on shard 0 after system "keeps" returned; a Context is for the running system alone`,
		func() { _ = value.Set(first, h, kept{}) })
}

type kept struct{ N int }
