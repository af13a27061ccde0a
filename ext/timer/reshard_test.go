package timer_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// TestReshard loads timers into other numbers of shards: each is due when it was, and an ID that was
// kept resets and cancels its timer, from any shard.
func TestReshard(t *testing.T) {
	for _, counts := range [][]int{{4, 16}, {4, 2}, {16, 4, 1, 7}} {
		g := newGame(t, counts[0], 2, timer.Options{})
		var hs []handle.Handle
		var kept []timer.ID
		set := func(n int) {
			hs = append(hs, g.create(n))
			h := hs[len(hs)-1]
			require.NoError(t, world.Move(g.World, h, n%g.Shards()))
			g.must(g.timers.After(g.World, h, 10+n%90, Ping{N: n}))
			g.must(g.timers.Every(g.World, h, 7+n%20, Ping{N: -n}))
			kept = append(kept, g.must(g.timers.After(g.World, h, 3+n%5, Ping{N: 1000 + n})), g.must(g.timers.After(g.World, h, 4, Ping{N: 2000 + n})))
		}
		next := 1
		for _, n := range counts[1:] {
			for range 100 {
				set(next)
				next++
			}
			g.global = func(*world.Context) {}
			g.until(2)
			image := g.save()
			one, two, old := loaded(t, image, n, 1), loaded(t, image, n, 5), loaded(t, image, g.Shards(), 2)
			require.Equal(t, one.hash(), two.hash())
			all := []*game{one, two, old}
			for _, x := range all {
				require.Equal(t, g.timers.Len(), x.timers.Len())
				for i := 0; i < len(kept); i += 2 {
					if err := x.timers.Reset(x.World, kept[i], 30); err != nil {
						require.ErrorIs(t, err, timer.ErrGone)
					}
				}
				x.systems = func(c *world.Context) { // from whatever shard the entity is in
					for i := 1; i < len(kept); i += 2 {
						if h := hs[i/2]; c.Owns(h) {
							require.NoError(t, x.timers.Cancel(c, kept[i]))
							if i%3 == 0 {
								_, err := x.timers.After(c, h, 2, Ping{N: 3000 + i})
								require.NoError(t, err)
							}
						}
					}
				}
				x.global = func(c *world.Context) {
					_, err := x.timers.After(c, hs[0], 3, Ping{N: 4000})
					require.NoError(t, err)
				}
			}
			for range 60 {
				want := old.heard()
				first, second := one.heard(), two.heard()
				require.Equal(t, first, second, "in the same order")
				slices.Sort(want)
				slices.Sort(first)
				require.Equal(t, want, first)
			}
			require.Equal(t, one.hash(), two.hash())
			for _, x := range all {
				x.systems, x.global = nil, nil
			}
			require.Equal(t, one.hash(), loaded(t, one.save(), n, 2).hash())
			g = two
		}
	}
}
