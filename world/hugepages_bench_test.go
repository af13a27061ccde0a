package world_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/world"
)

// BenchmarkHugePages loops over two components of many entities, and looks one up in
// random order, in worlds that ask for huge pages and in worlds that do not. Run it with a
// process for each case: what one world asked for stays with the heap.
func BenchmarkHugePages(b *testing.B) {
	for _, huge := range []bool{false, true} {
		for _, n := range []int{1_000_000, 4_000_000} {
			if testing.Short() && n > 1_000_000 {
				continue
			}
			setUp := func(b *testing.B) (*world.World, *world.Bundle[Mover]) {
				w := world.MustNew(world.Options{HugePages: huge})
				world.Register[Position](w, "position")
				world.Register[Velocity](w, "velocity")
				return w, world.NewBundle[Mover](w)
			}
			b.Run(fmt.Sprintf("ask=%v/n=%d/loop", huge, n), func(b *testing.B) {
				w, flyers := setUp(b)
				require.NoError(b, flyers.CreateN(w, n, nil))
				pos, vel := world.Write[Position](w), world.Read[Velocity](w)
				q := w.Query(pos, vel)
				for b.Loop() {
					for ch := range q.Chunks() {
						p, v := pos.Slice(ch), vel.Slice(ch)
						for i := range p {
							p[i].X += v[i].X
							p[i].Y += v[i].Y
						}
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/entity")
			})
			b.Run(fmt.Sprintf("ask=%v/n=%d/random", huge, n), func(b *testing.B) {
				w, flyers := setUp(b)
				all, err := flyers.AppendN(nil, w, n, nil)
				require.NoError(b, err)
				rand.New(rand.NewPCG(1, 1)).Shuffle(n, func(i, k int) { all[i], all[k] = all[k], all[i] })
				pos := world.Read[Position](w)
				sum := 0.0
				for b.Loop() {
					for _, h := range all {
						sum += pos.Get(h).X
					}
				}
				require.Zero(b, sum)
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/entity")
			})
		}
	}
}
