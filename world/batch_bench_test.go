package world_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/world"
)

// BenchmarkCreateN creates n movers in a world that has had as many before, in each of the ways
// to create many: zero values, values that a function fills in, rows.
func BenchmarkCreateN(b *testing.B) {
	for _, n := range []int{16, 256, 1000, 16_000, 1_000_000} {
		f := newFixture(b, world.Options{})
		all := f.Query()
		pos, vel := world.Write[Position](f.World), world.Write[Velocity](f.World)
		for _, way := range []struct {
			name   string
			create func() error
		}{
			{"zero", func() error { return f.mover.CreateN(f.World, n, nil) }},
			{"values", func() error {
				return f.mover.CreateN(f.World, n, func(i int, m *Mover) {
					m.Position, m.Velocity = Position{float64(i), 1}, Velocity{1, float64(i)}
				})
			}},
			{"rows", func() error {
				i := 0
				return f.mover.CreateRows(f.World, n, func(rows world.Chunk) {
					p, v := pos.Slice(rows), vel.Slice(rows)
					for k := range p {
						p[k], v[k] = Position{float64(i), 1}, Velocity{1, float64(i)}
						i++
					}
				})
			}},
		} {
			b.Run(fmt.Sprintf("%s/%d", way.name, n), func(b *testing.B) {
				times := max(1, 16_000/n)
				var took time.Duration
				for b.Loop() {
					start := time.Now()
					for range times {
						require.NoError(b, way.create())
					}
					took += time.Since(start)
					all.Destroy()
					f.Refresh()
				}
				b.ReportMetric(float64(took.Nanoseconds())/float64(b.N*times*n), "ns/entity")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// BenchmarkAddToMarked adds a component to all entities of many chunks, in each of which one is
// marked: time for each entity, which does not depend on how many there are.
func BenchmarkAddToMarked(b *testing.B) {
	for _, n := range []int{50_000, 400_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var took time.Duration
			for b.Loop() {
				f := newFixture(b, world.Options{Shards: 1, ChunkRowsMax: 16})
				placed := f.Query(world.Read[Position](f.World))
				require.NoError(b, world.NewBundle[struct{ Position }](f.World).CreateN(f.World, n, nil))
				for ch := range placed.Chunks() {
					f.Destroy(ch.Handle(0))
				}
				start := time.Now()
				require.NoError(b, f.velocity.AddTo(placed, nil))
				took += time.Since(start)
			}
			b.ReportMetric(float64(took.Nanoseconds())/float64(b.N)/float64(n), "ns/entity")
		})
	}
}
