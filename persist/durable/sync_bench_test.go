package durable_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/atoll-sim/atoll/persist/durable"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// work is something that takes about as long as systems do, whoever else uses the processor.
func work(n int) (x uint64) {
	x = 1
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

var worked uint64

// workOf returns how much of it takes so long.
func workOf(d time.Duration) int {
	const n = 1_000_000
	least := time.Hour
	for range 20 {
		began := time.Now()
		worked += work(n)
		least = min(least, time.Since(began))
	}
	return int(n * d / least)
}

// busy is a kept field whose systems take 10 ms, and get 10 KB of requests in each tick.
type busy struct {
	*field
	port         *world.Port
	commit, took []time.Duration
	n            int
}

func newBusy(b *testing.B, workers, each int, sealed bool) *busy {
	x := &busy{field: newField()}
	x.s = scheduler.New(x.World, scheduler.Options{Workers: workers, OnTick: func(r scheduler.Report) { x.commit = append(x.commit, r.Commit) }})
	x.s.MustAdd("work", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			if work(each) == 0 {
				panic("it never is")
			}
		}
	})
	st, err := durable.Open(context.Background(), b.TempDir(), x.World, x.s, durable.Options{New: x.fill(10_000), Interval: -1, Sync: sealed})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = st.Close() })
	if x.port, err = x.OpenPort(); err != nil {
		b.Fatal(err)
	}
	return x
}

// ticks makes ticks, back to back or at an interval, and returns how long the median took.
func (x *busy) ticks(b *testing.B, n int, interval time.Duration) time.Duration {
	took := make([]time.Duration, n)
	for i := range took {
		x.push(b, x.port, x.n, 300)
		x.n++
		began := time.Now()
		if err := x.s.Step(context.Background()); err != nil {
			b.Fatal(err)
		}
		took[i] = time.Since(began)
		time.Sleep(interval - time.Since(began))
	}
	x.took = append(x.took, took...)
	slices.Sort(took)
	return took[n/2]
}

// syncs returns how long the disk takes to write and sync so many bytes, n times.
func syncs(b *testing.B, n, bytes int, interval time.Duration) []time.Duration {
	file, err := os.Create(filepath.Join(b.TempDir(), "bare"))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	took, buf := make([]time.Duration, n), make([]byte, bytes)
	for i := range took {
		began := time.Now()
		if _, err := file.Write(buf); err != nil {
			b.Fatal(err)
		}
		if err := file.Sync(); err != nil {
			b.Fatal(err)
		}
		took[i] = time.Since(began)
		time.Sleep(interval - took[i])
	}
	return took
}

// BenchmarkSealedTick makes ticks with systems of 10 ms, in a world that is kept, with and without
// sealing in turns. An operation is a pair of 30 ticks each. "p50-ratio" is the median of the pairs'
// ratios. "p99-us" and "commit-p99-us", for which the refresh waited, are of all sealed ticks;
// "unsealed-p99-us" of the others; "disk-p99-us" is of a bare file that gets as many bytes.
//
//	go test ./persist/durable -run X -bench SealedTick -benchtime 10x
func BenchmarkSealedTick(b *testing.B) {
	const ticks = 30
	total := workOf(10 * time.Millisecond)
	workers := []int{1}
	if n := runtime.GOMAXPROCS(0); n > 1 {
		workers = append(workers, n)
	}
	for _, workers := range workers {
		for _, interval := range []time.Duration{0, time.Second / 30} {
			b.Run(fmt.Sprintf("workers=%d/interval=%v", workers, interval.Round(time.Millisecond)), func(b *testing.B) {
				each := total * workers / world.MustNew(world.Options{}).Shards()
				without, with := newBusy(b, workers, each, false), newBusy(b, workers, each, true)
				without.ticks(b, 5, 0)
				with.ticks(b, 5, 0)
				without.took, with.took, with.commit = nil, nil, nil
				var ratios []float64
				var disk []time.Duration
				for b.Loop() {
					old := without.ticks(b, ticks, interval)
					ratios = append(ratios, float64(with.ticks(b, ticks, interval))/float64(old))
					disk = append(disk, syncs(b, ticks, 10_000, interval)...)
				}
				slices.Sort(ratios)
				at := func(all []time.Duration, q int) float64 {
					slices.Sort(all)
					return float64(all[len(all)*q/100].Microseconds())
				}
				b.ReportMetric(ratios[len(ratios)/2], "p50-ratio")
				b.ReportMetric(at(without.took, 50), "unsealed-p50-us")
				b.ReportMetric(at(without.took, 99), "unsealed-p99-us")
				b.ReportMetric(at(with.took, 50), "p50-us")
				b.ReportMetric(at(with.took, 99), "p99-us")
				b.ReportMetric(at(with.commit, 50), "commit-p50-us")
				b.ReportMetric(at(with.commit, 99), "commit-p99-us")
				b.ReportMetric(at(disk, 50), "disk-p50-us")
				b.ReportMetric(at(disk, 99), "disk-p99-us")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
