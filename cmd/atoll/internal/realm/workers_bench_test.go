//go:build unix

package realm_test

import (
	"flag"
	"math"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/cmd/atoll/internal/realm"
)

var benchCreatures = flag.Int("creatures", 1_000_000, "creatures of BenchmarkWorkers")

// BenchmarkWorkers makes ticks of the same realm by one worker and by two, in turn,
// and tells how many times faster two are, by the least times: of a tick, and of
// work that shares nothing, which is what the machine can do at best just now. By
// the processor time is how much two would gain if nobody else used the machine:
// twice what one takes, divided by what two take together, their waiting included.
func BenchmarkWorkers(b *testing.B) {
	var games [2]*game
	for i := range games {
		games[i] = newGame(b, realm.Options{Creatures: *benchCreatures, Shards: 16, Seed: 1}, i+1)
		games[i].step(30)
	}
	runtime.GC()
	b.ResetTimer()
	least, alone, spent := [2]time.Duration{math.MaxInt64, math.MaxInt64}, [2]time.Duration{math.MaxInt64, math.MaxInt64}, [2]time.Duration{}
	for range b.N {
		for i, g := range games {
			cpu, began := processorTime(b), time.Now()
			g.step(1)
			least[i] = min(least[i], time.Since(began))
			spent[i] += processorTime(b) - cpu
			began = time.Now()
			spinBy(i + 1)
			alone[i] = min(alone[i], time.Since(began))
		}
	}
	require.Equal(b, games[0].Census(), games[1].Census())
	b.ReportMetric(float64(least[0].Microseconds())/1e3, "ms/tick-by-1")
	b.ReportMetric(float64(least[1].Microseconds())/1e3, "ms/tick-by-2")
	b.ReportMetric(least[0].Seconds()/least[1].Seconds(), "speedup")
	b.ReportMetric(2*spent[0].Seconds()/spent[1].Seconds(), "speedup-by-processor")
	b.ReportMetric(alone[0].Seconds()/alone[1].Seconds(), "speedup-of-nothing-shared")
}

// processorTime returns what the program has taken on all processors.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// spinBy does a fixed amount of work by so many goroutines, in equal parts.
func spinBy(goroutines int) {
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			x := uint64(1)
			for range 10_000_000 / goroutines {
				x = (x ^ x>>7) * 0x9e3779b97f4a7c15
			}
			runtime.KeepAlive(x)
		})
	}
	all.Wait()
}
