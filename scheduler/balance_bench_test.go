package scheduler_test

import (
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// BenchmarkBalanced makes ticks by two workers, in turn, of worlds of 16 shards:
// one whose entities are spread evenly, one with half of them on one shard, and one
// that was so and has been levelled. It tells their least times as ratios to the
// first; likewise of the least times of the shards added up; and how much longer than
// the mean the longest shard takes, which bounds what any number of workers can do.
func BenchmarkBalanced(b *testing.B) {
	const n, shards = 400_000, 16
	names := []string{"even", "heaped", "levelled"}
	all := make([]*fixture, len(names))
	for i := range names {
		o := scheduler.Options{Workers: 2}
		if i == 2 {
			o.Balancer = scheduler.Level(scheduler.LevelOptions{Limit: 1 << 16})
		}
		f := newFixtureOf(b, world.Options{Shards: shards}, o)
		f.movers.PlaceBy(nil)
		if i > 0 {
			f.heap(n/2-n/2/shards, 5)
			require.NoError(b, f.movers.CreateN(f.w, n-(n/2-n/2/shards), nil))
		} else {
			require.NoError(b, f.movers.CreateN(f.w, n, nil))
		}
		f.MustAdd("work", func(b *world.Build) func(*world.Context) {
			positions, velocities := world.Write[Position](b), world.Read[Velocity](b)
			moving := b.Query(positions, velocities)
			return func(c *world.Context) {
				for ch := range moving.Chunks() {
					p, v := positions.Slice(ch), velocities.Slice(ch)
					for k := range p {
						p[k].X = math.Sqrt(p[k].X*p[k].X + v[k].X + 1)
						p[k].Y = math.Sqrt(p[k].Y*p[k].Y + v[k].Y + p[k].X)
					}
				}
			}
		})
		f.step(20)
		all[i] = f
	}
	require.Empty(b, all[2].Shifts(), "it is level")
	runtime.GC()
	b.ResetTimer()
	least := []time.Duration{math.MaxInt64, math.MaxInt64, math.MaxInt64}
	longest := make([][shards]time.Duration, len(all)) // by shard, the least
	var stats scheduler.Stats
	for round := range b.N {
		for i, f := range all {
			began := time.Now()
			f.step(1)
			least[i] = min(least[i], time.Since(began))
			f.Stats(&stats)
			for k, s := range f.on(stats.Systems[0].Name) {
				if at := &longest[i][k]; round == 0 || s.Last < *at {
					*at = s.Last
				}
			}
		}
	}
	first := time.Duration(0)
	for i, name := range names {
		sum, most := time.Duration(0), time.Duration(0)
		for _, d := range longest[i] {
			sum, most = sum+d, max(most, d)
		}
		if i == 0 {
			first = sum
		}
		b.ReportMetric(most.Seconds()/sum.Seconds()*shards, name+"-longest/mean")
		b.ReportMetric(sum.Seconds()/first.Seconds(), name+"-work/even")
		b.ReportMetric(least[i].Seconds()/least[0].Seconds(), name+"/even")
	}
}
