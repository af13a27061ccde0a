package scheduler

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRecent holds the histogram against sorting the durations that it is of.
func TestRecent(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var r recent
	require.Equal(t, Quantiles{}, r.quantiles())
	var all []time.Duration
	for i := range 5 * RecentTicks {
		d := time.Duration(random.Int64N(1 << random.IntN(42)))
		r.add(d)
		all = append(all, d)
		if i%97 != 0 && i > 10 {
			continue
		}
		last := slices.Clone(all[max(0, len(all)-RecentTicks):])
		slices.Sort(last)
		q := r.quantiles()
		require.Equal(t, len(last), q.Ticks)
		for _, c := range []struct {
			got, want time.Duration
		}{
			{q.P50, last[(len(last)+1)/2-1]}, {q.P99, last[len(last)-len(last)/100-1]}, {q.Max, last[len(last)-1]},
		} {
			require.InDelta(t, c.want, c.got, 0.04*float64(c.want), "of %v", last)
		}
		require.True(t, q.P50 <= q.P99 && q.P99 <= q.Max)
	}
	sum := 0
	for _, n := range r.counts {
		sum += int(n)
	}
	require.Equal(t, RecentTicks, sum)
	require.Zero(t, testing.AllocsPerRun(100, func() { r.add(time.Second); _ = r.quantiles() }))
}

// TestRecentBuckets goes over the edges of all buckets: they ascend without a gap.
func TestRecentBuckets(t *testing.T) {
	for b := range buckets {
		require.Equal(t, b, bucketOf(middle(b)))
	}
	last := 0
	for v := uint64(1); v <= longest; v += 1 + v/64 {
		b := bucketOf(time.Duration(v))
		require.True(t, b == last || b == last+1, "%d", v)
		last = b
		require.InEpsilon(t, v, uint64(middle(b)), 0.04)
	}
	require.Equal(t, buckets-1, bucketOf(longest))
	require.Equal(t, buckets-1, bucketOf(1<<62))
	require.Zero(t, bucketOf(-5))
}
