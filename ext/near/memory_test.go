package near_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/ext/near"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// TestGone has most entities go, in several ways: an index is computed without them before long,
// and gives their memory back.
func TestGone(t *testing.T) {
	const few, many = 3000, 100_000
	var flag world.Flags = 1
	still := func(g *game) *world.Query { return g.Query(world.With[Still](g.World)) }
	for name, leave := range map[string]func(g *game){
		"tables": func(g *game) { still(g).Destroy() },
		"parts": func(g *game) {
			for still(g).Limit(many/20).Destroy() > 0 {
				g.step()
			}
		},
		"chunks change tables": func(g *game) { require.NoError(g.t, g.out.AddTo(still(g), nil)) },
		"flags": func(g *game) {
			var all []handle.Handle
			for ch := range still(g).Chunks() {
				all = append(all, ch.Handles()...)
			}
			for some := range slices.Chunk(all, many/20) {
				for _, h := range some {
					require.NoError(g.t, world.AddFlags(g.World, h, flag))
				}
				g.step()
			}
		},
		"held by a frame": func(g *game) {
			v, err := g.NewView(g.index)
			require.NoError(g.t, err)
			for range 3 {
				f, err := v.Now()
				require.NoError(g.t, err)
				still(g).Limit(many / 2).Destroy()
				g.step()
				f.Release()
			}
			f, err := v.Now()
			require.NoError(g.t, err)
			f.Release()
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGame(t, world.Options{Shards: 2}, 1, space, func(w *world.World) []world.Term {
				return []world.Term{world.Without[Out](w), world.WithoutFlags(w, flag)}
			})
			r := newRand(t, 1)
			require.NoError(t, g.units.CreateN(g.World, few, func(_ int, u *Unit) { u.Position = place(r) }))
			require.NoError(t, g.trees.CreateN(g.World, many, func(_ int, x *Tree) { x.Position = place(r) }))
			g.step()
			all, bytes := g.index.Kept()
			require.Equal(t, few+many, all)
			require.Greater(t, bytes, uint64(36*many))
			leave(g)
			g.step()
			require.Len(t, g.index.Read(g.World).AppendWithin(nil, near.Point{}, inf), few)
			all, bytes = g.index.Kept()
			require.Less(t, all, few+few/16+4096+few)
			if name != "flags" { // with which there are as many rows
				require.Less(t, bytes, uint64(36*many/4))
			}
		})
	}
}
