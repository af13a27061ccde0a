package clock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/internal/clock"
)

// TestClockAgrees measures one stretch of time by both clocks: the counter's is within a
// longer one and around a shorter one of the system's clock.
func TestClockAgrees(t *testing.T) {
	outer := time.Now()
	from := clock.Now()
	inner := time.Now()
	time.Sleep(20 * time.Millisecond)
	least := time.Since(inner)
	ticks := clock.Now() - from
	most := time.Since(outer)
	scale := clock.Measure()
	took := scale.Duration(ticks)
	require.GreaterOrEqual(t, took, least*95/100)
	require.LessOrEqual(t, took, most*105/100)
	require.InEpsilon(t, float64(ticks), float64(scale.Ticks(took)), 0.05)
	require.Zero(t, scale.Duration(-5))
}

// TestClockGoesOn never goes back on one goroutine, but for what two processors
// are apart.
func TestClockGoesOn(t *testing.T) {
	scale := clock.Measure()
	last := clock.Now()
	for range 100_000 {
		now := clock.Now()
		require.GreaterOrEqual(t, now-last, -scale.Ticks(time.Microsecond))
		last = now
	}
	require.Zero(t, testing.AllocsPerRun(100, func() { clock.Now() }))
}

// TestClockInBubble measures where time is not the counter's.
func TestClockInBubble(t *testing.T) {
	want := clock.Measure()
	require.False(t, clock.InBubble())
	synctest.Test(t, func(t *testing.T) {
		require.True(t, clock.InBubble())
		s := clock.Measure()
		require.InEpsilon(t, float64(want), float64(s), 20)
		time.Sleep(time.Hour)
		require.Equal(t, s, clock.Measure())
		require.True(t, clock.InBubble())
	})
}

func BenchmarkNow(b *testing.B) {
	for b.Loop() {
		clock.Now()
	}
}

func BenchmarkTimeNow(b *testing.B) {
	for b.Loop() {
		time.Now()
	}
}
