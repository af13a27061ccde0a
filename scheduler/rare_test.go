package scheduler_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestRareRecords runs a world whose ticks all take too long: the first is logged at once, the rest
// at most once a second and when Run ends, and the records account for all.
func TestRareRecords(t *testing.T) {
	var log bytes.Buffer
	f := newFixtureOf(t, world.Options{Shards: 1, TickInterval: time.Millisecond}, scheduler.Options{
		Workers: 1, Overrun: scheduler.Skip, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	f.MustAdd("sleep", func(*world.Build) func(*world.Context) {
		return func(*world.Context) { time.Sleep(3 * time.Millisecond) }
	})
	began := time.Now()
	stop := time.AfterFunc(1200*time.Millisecond, f.Stop)
	defer stop.Stop()
	require.NoError(t, f.Run(t.Context()))
	took := time.Since(began)

	var overruns, skipped uint64
	single, given := 0, 0
	for _, s := range strings.Split(log.String(), "\n") {
		if _, s, ok := strings.Cut(s, `msg="tick took too long"`); ok {
			single++
			overruns++
			if _, s, ok := strings.Cut(s, `"more since the last record"=`); ok {
				overruns += number(t, s)
			}
		}
		if _, s, ok := strings.Cut(s, `msg="more ticks took too long" ticks=`); ok {
			overruns += number(t, s)
			require.Contains(t, s, `"the worst took"=`)
		}
		if _, s, ok := strings.Cut(s, `msg="ticks given up"`); ok {
			given++
			_, s, _ = strings.Cut(s, "ticks=")
			skipped += number(t, s)
		}
	}
	var stats scheduler.Stats
	f.Stats(&stats)
	require.Equal(t, stats.Overruns, overruns)
	require.Equal(t, stats.Skipped, skipped)
	most := 2 + int(took/time.Second)
	require.True(t, 1 <= single && single <= most, "%d in %v", single, took)
	require.True(t, 1 <= given && given <= most+1, "%d in %v", given, took)
}

// number returns the number that a text begins with.
func number(t *testing.T, s string) (n uint64) {
	_, err := fmt.Sscan(s, &n)
	require.NoError(t, err, s)
	return n
}
