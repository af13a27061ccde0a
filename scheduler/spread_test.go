package scheduler

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSpread compares quantiles with those of the sorted durations.
func TestSpread(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		var s spread
		var all []time.Duration
		for range 1 + r.IntN(2000) {
			d := time.Duration(1+r.IntN(15)) << r.IntN(27)
			all = append(all, d)
			s.add(d)
		}
		slices.Sort(all)
		n := len(all) - 1
		p50, p99 := s.quantiles(uint64(n+1), all[n])
		for got, want := range map[time.Duration]time.Duration{p50: all[n/2], p99: all[n-n/100]} {
			require.InDelta(t, float64(want), float64(got), max(0.26*float64(want), 256), "seed %d of %d", seed, len(all))
		}
	}
	var s spread
	p50, p99 := s.quantiles(0, time.Second)
	require.Zero(t, p50+p99)
	s.add(time.Hour)
	s.add(-1)
	p50, p99 = s.quantiles(2, time.Hour)
	require.Equal(t, 128*time.Nanosecond, p50)
	require.Equal(t, time.Hour, p99)
	for b := 1; b < spreadBuckets; b++ {
		s = spread{}
		s.add(s.lower(b))
		require.Equal(t, uint32(1), s[b], "%d", b)
		s.add(s.lower(b) - 1)
		require.Equal(t, uint32(1), s[b-1], "%d", b)
	}
}
