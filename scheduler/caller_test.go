package scheduler_test

import (
	"bytes"
	"context"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// TestWorkersOfBubble makes ticks, and then at once one in a bubble of synctest: no worker that
// stayed awake from outside runs a system there, where the first channel of the bubble that it
// touches would end the process.
func TestWorkersOfBubble(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	w := world.MustNew(world.Options{Shards: 4})
	s := scheduler.New(w, scheduler.Options{Workers: 2})
	var in chan int // of the bubble, as a server's commands might be
	s.MustAdd("commands", func(*world.Build) func(*world.Context) {
		return func(*world.Context) {
			for began := time.Now(); in == nil && time.Since(began) < 30*time.Microsecond; { // outside: some work
			}
			select {
			case <-in:
			default:
			}
		}
	})
	for range 50 {
		in = nil
		for range 5 {
			require.NoError(t, s.Step(context.Background()))
		}
		synctest.Test(t, func(t *testing.T) {
			in = make(chan int, 1)
			require.NoError(t, s.Step(context.Background()))
		})
	}
}

// TestWorkersHaveLabels makes ticks under one profile label, and at once one under another: all
// workers have the latter.
func TestWorkersHaveLabels(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	w := world.MustNew(world.Options{Shards: 2})
	s := scheduler.New(w, scheduler.Options{Workers: 2})
	var look atomic.Bool
	var inside atomic.Int32
	const alone, both = -10, 10
	var seen bytes.Buffer
	s.MustAdd("both", func(b *world.Build) func(*world.Context) {
		shard := b.Shard()
		return func(*world.Context) {
			if !look.Load() {
				for began := time.Now(); time.Since(began) < 30*time.Microsecond; {
				}
				return
			}
			inside.Add(1)
			for began := time.Now(); inside.Load() < 2; runtime.Gosched() { // both workers are in the system
				if time.Since(began) > 10*time.Millisecond { // the other one is late for an earlier tick
					inside.CompareAndSwap(1, alone)
				}
				if inside.Load() < 0 {
					return
				}
			}
			if shard == 0 {
				_ = pprof.Lookup("goroutine").WriteTo(&seen, 1)
				inside.Store(both)
			}
			for inside.Load() < both {
				runtime.Gosched()
			}
		}
	})
	for range 20 {
		look.Store(false)
		pprof.Do(context.Background(), pprof.Labels("zone", "first"), func(ctx context.Context) {
			for range 10 {
				require.NoError(t, s.Step(ctx))
			}
		})
		look.Store(true)
		seen.Reset()
		pprof.Do(context.Background(), pprof.Labels("zone", "second"), func(ctx context.Context) {
			for inside.Store(0); inside.Load() != both; {
				inside.Store(0)
				require.NoError(t, s.Step(ctx))
			}
		})
		for goroutine := range strings.SplitSeq(seen.String(), "\n\n") {
			if strings.Contains(goroutine, "TestWorkersHaveLabels") { // not one that is about to end
				require.Contains(t, goroutine, `"zone":"second"`)
			}
		}
	}
}
