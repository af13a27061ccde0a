package scheduler_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestStepTellsOfFunctions has functions panic, and end their goroutines, in the
// refresh of a tick: the tick is completed, by any number of workers, and its error
// tells of each behind the systems.
func TestStepTellsOfFunctions(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		t.Run(fmt.Sprintf("%d workers", workers), func(t *testing.T) {
			const shards = 5
			f := newFixture(t, shards, workers)
			markers := f.mark()
			fail := world.RegisterFunc(f.w, "fail", func(self *world.EntityContext, exits bool) {
				if exits {
					runtime.Goexit()
				}
				panic("no more")
			})
			none := world.RegisterFunc(f.w, "none", func(*world.EntityContext, struct{}) {})
			broken := false
			f.MustAdd("system", func(*world.Build) func(*world.Context) {
				return func(c *world.Context) {
					if broken && c.Shard() == 4 {
						panic("a system")
					}
				}
			})
			port, err := f.w.OpenPort()
			require.NoError(t, err)
			for range 3 {
				broken = true
				for i, h := range markers {
					require.NoError(t, fail.Call(port, h, i%2 == 0))
				}
				for range 600 { // enough for the workers to share
					require.NoError(t, none.Call(port, markers[1], struct{}{}))
				}
				err = f.Step(t.Context())
				require.ErrorContains(t, err, "a system")
				require.ErrorContains(t, err, `function "fail" panicked`)
				for shard := range shards {
					require.ErrorContains(t, err, fmt.Sprintf("on shard %d, at the end of tick", shard))
				}
				broken = false
				require.NoError(t, f.Step(t.Context()))
			}
		})
	}
}

// TestStepCountsFunctions has more functions panic than the world keeps details of: the
// error, the count and the log tell of all.
func TestStepCountsFunctions(t *testing.T) {
	var log bytes.Buffer
	f := newFixtureOf(t, world.Options{Shards: 4}, scheduler.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	markers := f.mark()
	fail := world.RegisterFunc(f.w, "fail", func(*world.EntityContext, int) { panic("no more") })
	port, err := f.w.OpenPort()
	require.NoError(t, err)
	for i := range 1000 {
		require.NoError(t, fail.Call(port, markers[i%4], i))
	}
	err = f.Step(t.Context())
	require.ErrorContains(t, err, "world: 936 more functions panicked at the end of tick 0; details are kept of 64")
	require.Equal(t, 64, strings.Count(log.String(), "function panicked"))
	require.Contains(t, log.String(), `msg="more functions panicked" calls=936 tick=0`)
	var stats scheduler.Stats
	f.Stats(&stats)
	require.Equal(t, uint64(1000), stats.Panics)
}
