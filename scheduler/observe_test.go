package scheduler_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestTrace makes ticks under an execution trace: it has the ticks as tasks, and
// the systems and the refresh as regions.
func TestTrace(t *testing.T) {
	f := newFixture(t, 4, 2)
	f.MustAdd("traced system", idle).MustAdd("breaks", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			if c.Tick() == 1 {
				panic(errBroken)
			}
		}
	})
	f.step(1)
	var out bytes.Buffer
	require.NoError(t, trace.Start(&out))
	require.Error(t, f.Step(t.Context()))
	f.step(1)
	trace.Stop()
	for _, name := range []string{"atoll tick", "system traced system", "system breaks", "refresh"} {
		require.True(t, bytes.Contains(out.Bytes(), []byte(name)), name)
	}
	f.step(1)
}

// profile returns the records of the goroutine profile that have a label.
func profile(t *testing.T, label string) (found []string) {
	var out bytes.Buffer
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&out, 1))
	for _, record := range strings.Split(out.String(), "\n\n") {
		if strings.Contains(record, label) && !strings.Contains(record, "scheduler.doNothing") { // which ends at once
			found = append(found, record)
		}
	}
	return found
}

// TestLabels looks at the goroutine profile from within systems, and afterwards
// finds the caller's own labels.
func TestLabels(t *testing.T) {
	f := newFixtureOf(t, world.Options{Shards: 3}, scheduler.Options{Workers: 2, Labels: true})
	var seen [3][]string
	f.MustAdd("labelled", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			seen[c.Shard()] = profile(t, fmt.Sprintf(`"shard":"%d"`, c.Shard()))
		}
	})
	f.MustAdd("global", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			if len(profile(t, `"shard":"all"`)) != 1 {
				panic("not labelled")
			}
		}
	}, scheduler.Global())
	pprof.Do(t.Context(), pprof.Labels("caller", "me"), func(ctx context.Context) {
		require.NoError(t, f.Step(ctx))
		// A worker that did not begin in the tick has the labels until it ends, which is soon.
		for end := time.Now().Add(time.Minute); len(profile(t, `"caller":"me"`)) > 1 && time.Now().Before(end); {
			runtime.Gosched()
		}
		require.Len(t, profile(t, `"caller":"me"`), 1)
		require.Empty(t, profile(t, `"system"`))
	})
	for shard := range seen {
		require.Len(t, seen[shard], 1)
		require.Contains(t, seen[shard][0], `"system":"labelled"`)
	}
}
