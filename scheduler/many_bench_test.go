package scheduler_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// withIdle makes a scheduler with n systems that do nothing, in a world of 4 shards.
func withIdle(b *testing.B, n int, names []string) *scheduler.Scheduler {
	w := world.MustNew(world.Options{Shards: 4})
	b.Cleanup(func() { w.Close() })
	s := scheduler.New(w, scheduler.Options{Workers: 1})
	for _, name := range names[:n] {
		s.MustAdd(name, idle)
	}
	return s
}

// BenchmarkAddMany gives the time to add a system, and to schedule it in the first Step, by how many
// there are.
func BenchmarkAddMany(b *testing.B) {
	names := make([]string, 5000)
	for i := range names {
		names[i] = fmt.Sprint("system ", i)
	}
	for _, n := range []int{10, 500, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				s := withIdle(b, n, names)
				if err := s.Step(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/system")
		})
	}
}

// BenchmarkIdleSystems gives the time of a system that does nothing, on one shard, in a tick with
// many of them.
func BenchmarkIdleSystems(b *testing.B) {
	names := make([]string, 5000)
	for i := range names {
		names[i] = fmt.Sprint("system ", i)
	}
	for _, n := range []int{10, 500, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := withIdle(b, n, names)
			step := func() {
				if err := s.Step(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
			step() // plans
			for b.Loop() {
				step()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n*4), "ns/run")
		})
	}
}
