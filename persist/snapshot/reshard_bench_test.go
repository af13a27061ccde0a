package snapshot_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/persist/snapshot"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/shard"
	"github.com/atoll-sim/atoll/world"
)

// agentWorld makes an empty world of agents.
func agentWorld(shards int) (*world.World, *world.Bundle[Agent]) {
	w := world.MustNew(world.Options{Shards: shards})
	world.Register[Place](w, "place")
	world.Register[Motion](w, "motion")
	world.Register[Life](w, "life")
	return w, world.NewBundle[Agent](w)
}

// crowdOf makes a world of agents.
func crowdOf(tb testing.TB, shards, agents int) *world.World {
	w, bundle := agentWorld(shards)
	require.NoError(tb, bundle.CreateN(w, agents, func(i int, a *Agent) {
		*a = Agent{Place{float64(i), float64(i) / 3}, Motion{float64(i % 7), 1}, Life{int32(i % 100), 100, handle.None}}
	}))
	w.Refresh()
	return w
}

// reloaded loads a world of agents into so many shards.
func reloaded(tb testing.TB, from *world.World, shards int) *world.World {
	var out bytes.Buffer
	require.NoError(tb, snapshot.Write(&out, from, snapshot.Options{Compression: snapshot.None}))
	from.Close()
	w, _ := agentWorld(shards)
	require.NoError(tb, snapshot.Load(&out, w, snapshot.Options{}))
	w.Refresh()
	return w
}

// BenchmarkAfterReshard runs systems in a world of 16 shards that is new, was loaded from one with 16,
// or from one with 4: what a world pays afterwards for the change. Entities look for others in their own
// shard, one after the other or in any order, and for any in the world.
func BenchmarkAfterReshard(b *testing.B) {
	const shards = 16
	agents := agentsOf()
	for _, way := range []struct {
		name string
		make func() *world.World
	}{
		{"new", func() *world.World { return crowdOf(b, shards, agents) }},
		{"from16", func() *world.World { return reloaded(b, crowdOf(b, shards, agents), shards) }},
		{"from4", func() *world.World { return reloaded(b, crowdOf(b, 4, agents), shards) }},
	} {
		w := way.make()
		for _, whom := range []string{"next", "own", "any"} {
			of := targets(w, whom)
			for call, f := range lookUps() {
				b.Run(way.name+"/"+call+"/"+whom, func(b *testing.B) { f(b, w, of) })
			}
		}
		b.Run(way.name+"/loop", func(b *testing.B) {
			runIn(b, w, func(x *world.Build) func(*world.Context) {
				place, motion := world.Write[Place](x), world.Read[Motion](x)
				q := x.Query(place, motion)
				return func(*world.Context) {
					for ch := range q.Chunks() {
						p := place.Slice(ch)
						for i, m := range motion.Slice(ch) {
							p[i].X += m.X
							p[i].Y += m.Y
						}
					}
				}
			})
		})
		w.Close()
	}
}

// targets returns whom the entities of each shard look for: who has the next row, any in their shard, or
// any at all.
func targets(w *world.World, whom string) [][]handle.Handle {
	dice, own := rand.New(rand.NewPCG(1, 2)), make([][]handle.Handle, w.Shards())
	var all []handle.Handle
	for ch := range w.Query().Chunks() {
		all = append(all, ch.Handles()...)
	}
	for _, h := range all {
		i, _ := w.Owner(h)
		own[i] = append(own[i], h)
	}
	for _, hs := range own {
		switch whom {
		case "own":
			dice.Shuffle(len(hs), func(i, j int) { hs[i], hs[j] = hs[j], hs[i] })
		case "any":
			for i := range hs {
				hs[i] = all[dice.IntN(len(all))]
			}
		}
	}
	return own
}

// lookUps are the look-ups of systems, by handle.
func lookUps() map[string]func(b *testing.B, w *world.World, of [][]handle.Handle) {
	sum := make([]float64, 64)
	return map[string]func(b *testing.B, w *world.World, of [][]handle.Handle){
		"Locate": func(b *testing.B, w *world.World, of [][]handle.Handle) {
			runIn(b, w, func(*world.Build) func(*world.Context) {
				return func(c *world.Context) {
					n := shard.Loc(0)
					for _, h := range of[c.Shard()] {
						n += c.Locate(h)
					}
					sum[c.Shard()] = float64(n)
				}
			})
		},
		"Alive": func(b *testing.B, w *world.World, of [][]handle.Handle) {
			runIn(b, w, func(*world.Build) func(*world.Context) {
				return func(c *world.Context) {
					n := 0
					for _, h := range of[c.Shard()] {
						if c.Alive(h) {
							n++
						}
					}
					sum[c.Shard()] = float64(n)
				}
			})
		},
		"Get": func(b *testing.B, w *world.World, of [][]handle.Handle) {
			runIn(b, w, func(x *world.Build) func(*world.Context) {
				place := world.Read[Place](x)
				return func(c *world.Context) {
					n := 0.0
					for _, h := range of[c.Shard()] {
						if p := place.Get(h); p != nil {
							n += p.X
						}
					}
					sum[c.Shard()] = n
				}
			})
		},
	}
}

// runIn runs a system once for each entity and turn of the benchmark.
func runIn(b *testing.B, w *world.World, system func(*world.Build) func(*world.Context)) {
	s := scheduler.New(w, scheduler.Options{Workers: 1})
	s.MustAdd("system", system)
	for b.Loop() {
		require.NoError(b, s.Step(context.Background()))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(w.Count()), "ns/entity")
}
