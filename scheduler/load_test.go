package scheduler_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// BenchmarkEmptySystems is the cost of scheduling alone: 64 shards × 10 systems
// that do nothing, on one worker, without fences and with one before each system.
func BenchmarkEmptySystems(b *testing.B) {
	for _, fences := range []bool{false, true} {
		b.Run(fmt.Sprint("fences=", fences), func(b *testing.B) {
			w := world.MustNew(world.Options{Shards: 64})
			world.Register[Position](w, "position")
			s := scheduler.New(w, scheduler.Options{Workers: 1})
			for i := range 10 {
				s.MustAdd(fmt.Sprint("empty ", i), func(b *world.Build) func(*world.Context) {
					if fences {
						touch(b, i)
					}
					return nothing
				})
			}
			ctx := b.Context()
			for b.Loop() {
				if err := s.Step(ctx); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/640, "ns/node")
		})
	}
}

// touch declares access such that each system waits for the one before it.
func touch(b *world.Build, i int) {
	if i%2 == 0 {
		world.Write[Position](b)
	} else {
		world.ReadForeign[Position](b)
	}
}

// BenchmarkEmptyShards is the cost of a tick: 16 shards with nothing to do, step
// after step, the refresh included.
func BenchmarkEmptyShards(b *testing.B) {
	for _, workers := range []int{1, 2, 8} {
		b.Run(fmt.Sprint("workers=", workers), func(b *testing.B) {
			w := world.MustNew(world.Options{Shards: 16})
			s := scheduler.New(w, scheduler.Options{Workers: workers})
			s.MustAdd("empty", func(*world.Build) func(*world.Context) { return nothing })
			ctx := b.Context()
			for b.Loop() {
				if err := s.Step(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSmallSystems is 10,000 nodes of about 5 µs each, 100 shards × 100
// systems, on two workers, with and without fences. It reports the part of the
// time that would do for the work alone, by two goroutines that take it from a
// counter, a hundred nodes at a time; both are measured in turns, and the best
// round of each counts.
func BenchmarkSmallSystems(b *testing.B) {
	for _, fences := range []int{0, 10, 50} {
		b.Run(fmt.Sprint("fences=", fences), func(b *testing.B) {
			const shards, systems = 100, 100
			w := world.MustNew(world.Options{Shards: shards})
			world.Register[Position](w, "position")
			s := scheduler.New(w, scheduler.Options{Workers: 2})
			var sums [shards]struct {
				n uint64
				_ [120]byte
			}
			for i := range systems {
				s.MustAdd(fmt.Sprint("spin ", i), func(b *world.Build) func(*world.Context) {
					if fences > 0 && i%(systems/fences) == 0 {
						touch(b, i/(systems/fences))
					}
					return func(c *world.Context) { sums[c.Shard()].n += spin() }
				})
			}
			byHand := func() {
				var next atomic.Int32
				work := func() {
					for k := next.Add(1) - 1; k < shards; k = next.Add(1) - 1 {
						for range systems {
							sums[k].n += spin()
						}
					}
				}
				var other sync.WaitGroup
				other.Go(work)
				work()
				other.Wait()
			}
			ctx := b.Context()
			alone, scheduled := time.Hour, time.Hour
			for b.Loop() {
				began := time.Now()
				byHand()
				middle := time.Now()
				if err := s.Step(ctx); err != nil {
					b.Fatal(err)
				}
				alone, scheduled = min(alone, middle.Sub(began)), min(scheduled, time.Since(middle))
			}
			b.ReportMetric(100*alone.Seconds()/scheduled.Seconds(), "%work")
			b.ReportMetric(float64(scheduled.Nanoseconds())/shards/systems*2, "ns/node")
		})
	}
}

// spin is about 5 µs of work.
func spin() uint64 {
	x := uint64(1)
	for range 3300 {
		x = (x ^ x>>7) * 0x9e3779b97f4a7c15
	}
	return x
}

// BenchmarkBesideOthers makes a tick of 20,000 entities each millisecond in a process with 200
// other goroutines, which take a processor together: mean and p99 of the ticks.
func BenchmarkBesideOthers(b *testing.B) {
	for _, c := range []struct {
		workers int
		own     bool // each tick has a context of its own, as for a span of a trace
	}{{1, false}, {2, false}, {2, true}} {
		b.Run(fmt.Sprintf("workers=%d/own=%v", c.workers, c.own), func(b *testing.B) {
			w := world.MustNew(world.Options{})
			world.Register[Position](w, "position")
			if err := world.NewBundle[struct{ Position }](w).CreateN(w, 20_000, nil); err != nil {
				b.Fatal(err)
			}
			s := scheduler.New(w, scheduler.Options{Workers: c.workers})
			s.MustAdd("move", func(b *world.Build) func(*world.Context) {
				pos := world.Write[Position](b)
				all := b.Query(pos)
				return func(*world.Context) {
					for ch := range all.Chunks() {
						for i := range pos.Slice(ch) {
							pos.Slice(ch)[i].X++
						}
					}
				}
			})
			ctx, stop := context.WithCancel(b.Context())
			var others sync.WaitGroup
			for range 200 {
				others.Go(func() {
					for ctx.Err() == nil {
						for began := time.Now(); time.Since(began) < 50*time.Microsecond; {
						}
						time.Sleep(10 * time.Millisecond)
					}
				})
			}
			ticks := int64(0)
			for b.Loop() {
				of, end := ctx, func() {}
				if c.own {
					of, end = context.WithCancel(ctx)
				}
				began := time.Now()
				if err := s.Step(of); err != nil {
					b.Fatal(err)
				}
				ticks += time.Since(began).Nanoseconds()
				end()
				time.Sleep(time.Millisecond)
			}
			stop()
			others.Wait()
			var stats scheduler.Stats
			s.Stats(&stats)
			b.ReportMetric(float64(ticks)/float64(b.N), "ns/tick")
			b.ReportMetric(float64(stats.Time.Quantile(0.99)), "p99-ns/tick")
		})
	}
}

// BenchmarkStats reads the statistics of worlds with many systems and shards.
func BenchmarkStats(b *testing.B) {
	for _, size := range [][2]int{{4, 20}, {64, 100}, {256, 200}} {
		b.Run(fmt.Sprintf("shards=%d/systems=%d", size[0], size[1]), func(b *testing.B) {
			w := world.MustNew(world.Options{Shards: size[0]})
			s := scheduler.New(w, scheduler.Options{})
			for i := range size[1] {
				s.MustAdd(fmt.Sprint(i), func(*world.Build) func(*world.Context) { return nothing })
			}
			if err := s.Step(b.Context()); err != nil {
				b.Fatal(err)
			}
			var stats scheduler.Stats
			for b.Loop() {
				s.Stats(&stats)
			}
		})
	}
}
