package stats_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/world/stats"
)

// TestQuantiles compares quantiles with those of the sorted durations.
func TestQuantiles(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		var h stats.Histogram
		var all []time.Duration
		sum := time.Duration(0)
		for range 1 + r.IntN(2000) {
			d := time.Duration(1+r.IntN(15)) << r.IntN(32)
			all, sum = append(all, d), sum+d
			h.Add(d)
		}
		slices.Sort(all)
		require.Equal(t, uint64(len(all)), h.Count())
		require.Equal(t, sum, h.Sum())
		require.Equal(t, all[len(all)-1], h.Max())
		for _, q := range []float64{0, 0.25, 0.5, 0.9, 0.99, 1} {
			want := all[max(int(math.Ceil(q*float64(len(all)))), 1)-1] // the shortest that so many did not exceed
			got := h.Quantile(q)
			require.GreaterOrEqual(t, got, want, "seed %d, %v of %d", seed, q, len(all))
			require.LessOrEqual(t, float64(got), max(1.125*float64(want), 127), "seed %d, %v of %d", seed, q, len(all))
			require.LessOrEqual(t, got, h.Max())
			i, _ := slices.BinarySearch(all, got+1)
			require.GreaterOrEqual(t, float64(i), q*float64(len(all)), "seed %d: %v of %d did not exceed it", seed, q, len(all))
		}
		n := 0
		last := time.Duration(0)
		for bound, below := range h.Buckets() {
			require.Greater(t, bound, last)
			i, _ := slices.BinarySearch(all, bound)
			require.Equal(t, uint64(i), below, "below %v", bound)
			last, n = bound, n+1
		}
		require.Equal(t, 30, n)
	}
}

// TestQuantileOfEquals has quantiles of durations that are nearly the same: none is below all of
// them.
func TestQuantileOfEquals(t *testing.T) {
	var h stats.Histogram
	for range 1000 {
		h.Add(83 * time.Millisecond)
	}
	h.Add(84 * time.Millisecond)
	for _, q := range []float64{0, 0.5, 0.99, 1} {
		require.GreaterOrEqual(t, h.Quantile(q), 83*time.Millisecond, "%v", q)
		require.LessOrEqual(t, h.Quantile(q), 84*time.Millisecond, "%v", q)
	}
}

// TestQuantileOfFew is the least of few durations that at least the share did not exceed.
func TestQuantileOfFew(t *testing.T) {
	var h stats.Histogram
	for n := range 7 {
		h.Add(time.Second << n) // in buckets of their own
	}
	require.Equal(t, 64*time.Second, h.Quantile(0.9), "6 of 7 are fewer than 90 %")
	require.Less(t, h.Quantile(0.85), 64*time.Second)
	h = stats.Histogram{}
	h.Add(time.Second)
	h.Add(time.Minute)
	require.Less(t, h.Quantile(0.5), 2*time.Second)
}

// TestEnds counts what is out of the buckets.
func TestEnds(t *testing.T) {
	var h stats.Histogram
	require.Zero(t, h.Quantile(0.5))
	require.Zero(t, h.Max())
	h.Add(-5)
	h.Add(0)
	require.Zero(t, h.Sum())
	require.Zero(t, h.Quantile(1))
	h.Add(500 * time.Hour)
	require.Equal(t, 500*time.Hour, h.Quantile(1))
	require.Equal(t, 500*time.Hour, h.Max())
	require.Equal(t, h.Quantile(0), h.Quantile(-3), "shares out of range are the next in it")
	require.Equal(t, h.Quantile(1), h.Quantile(7))
}

// TestSince takes out what was counted before.
func TestSince(t *testing.T) {
	var h, later stats.Histogram
	for d := range time.Duration(1000) {
		h.Add(d * time.Millisecond)
	}
	was := h
	for d := range time.Duration(100) {
		h.Add(d * time.Microsecond)
		later.Add(d * time.Microsecond)
	}
	since := h.Since(&was)
	require.Equal(t, uint64(100), since.Count())
	require.Equal(t, later.Sum(), since.Sum())
	require.Equal(t, later.Quantile(0.5), since.Quantile(0.5))
	require.GreaterOrEqual(t, since.Max(), later.Max())
	require.LessOrEqual(t, float64(since.Max()), 1.125*float64(later.Max()))
	was.Merge(&since)
	require.Equal(t, h, was)
	none := h.Since(&h)
	require.Zero(t, none.Count())
	require.Zero(t, none.Max())
}

func TestAddAllocates(t *testing.T) {
	var h stats.Histogram
	require.Zero(t, testing.AllocsPerRun(100, func() { h.Add(time.Millisecond); h.Quantile(0.5) }))
}

func BenchmarkAdd(b *testing.B) {
	var h stats.Histogram
	for i := range b.N {
		h.Add(time.Duration(i&0xffff) << 4)
	}
}

func ExampleHistogram() {
	var waits, before stats.Histogram
	for ms := range time.Duration(100) {
		waits.Add(ms * time.Millisecond)
	}
	before = waits // a copy, for what comes since
	waits.Add(3 * time.Second)
	since := waits.Since(&before)
	fmt.Println(waits.Count(), waits.Max(), since.Count())
	fmt.Println("the median is about 50 ms:", waits.Quantile(0.5).Round(10*time.Millisecond))
	// Output:
	// 101 3s 1
	// the median is about 50 ms: 50ms
}

func ExampleHistogram_Buckets() {
	var h stats.Histogram
	h.Add(200 * time.Nanosecond)
	h.Add(400 * time.Nanosecond)
	for bound, n := range h.Buckets() {
		fmt.Println("shorter than", bound, n)
		if n == h.Count() {
			break
		}
	}
	// Output:
	// shorter than 128ns 0
	// shorter than 256ns 1
	// shorter than 512ns 2
}
