package scheduler_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// BenchmarkThousandWorlds runs a thousand worlds of 200 entities at 10 Hz, each by a Run of its own.
// It gives how much of a processor they take, and the memory. An operation is a tick; give it 20,000
// or more. (A common pool of goroutines for all of them took as much: the runtime is one.)
func BenchmarkThousandWorlds(b *testing.B) {
	const worlds, entities, interval = 1000, 200, 100 * time.Millisecond
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	all := make([]*scheduler.Scheduler, worlds)
	for i := range all {
		all[i] = newDungeon(b, world.Options{Shards: 1, TickInterval: interval}, entities)
	}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	var runs sync.WaitGroup
	for _, s := range all {
		runs.Go(func() {
			if err := s.Run(ctx); err != nil {
				b.Error(err)
			}
		})
	}
	time.Sleep(time.Second) // they begin
	runtime.GC()
	runtime.ReadMemStats(&after)
	began, cpu := time.Now(), processor(b)
	b.ResetTimer()
	time.Sleep(time.Duration(b.N/worlds) * interval)
	b.StopTimer()
	took := time.Since(began).Seconds()
	b.ReportMetric((processor(b)-cpu).Seconds()/took, "cores")
	b.ReportMetric(float64(after.HeapInuse+after.StackInuse-before.HeapInuse-before.StackInuse)/1e6, "MB")
	cancel()
	runs.Wait()
	for _, s := range all {
		s.World().Close()
	}
}

// BenchmarkEmptyWorld makes ticks of a world without entities, and gives what one takes of memory.
func BenchmarkEmptyWorld(b *testing.B) {
	for _, shards := range []int{1, 4} {
		b.Run(fmt.Sprintf("shards=%d", shards), func(b *testing.B) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			all := make([]*scheduler.Scheduler, 200)
			for i := range all {
				all[i] = newDungeon(b, world.Options{Shards: shards}, 0)
				if err := all[i].Step(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			for b.Loop() {
				_ = all[0].Step(context.Background())
			}
			b.ReportMetric(float64(after.HeapInuse-before.HeapInuse)/1000/float64(len(all)), "KB/world")
			for _, s := range all {
				s.World().Close()
			}
		})
	}
}

// newDungeon makes a world in which entities move.
func newDungeon(b *testing.B, o world.Options, entities int) *scheduler.Scheduler {
	w := world.MustNew(o)
	world.Register[Position](w, "position")
	world.Register[Velocity](w, "velocity")
	if err := world.NewBundle[Mover](w).CreateN(w, entities, nil); err != nil {
		b.Fatal(err)
	}
	s := scheduler.New(w, scheduler.Options{})
	s.MustAdd("move", func(x *world.Build) func(*world.Context) {
		position, velocity := world.Write[Position](x), world.Read[Velocity](x)
		all := x.Query(position, velocity)
		return func(*world.Context) {
			for ch := range all.Chunks() {
				p, v := position.Slice(ch), velocity.Slice(ch)
				for i := range p {
					p[i].X += v[i].X
					p[i].Y += v[i].Y
				}
			}
		}
	})
	return s
}

// processor returns how long the process has run on processors.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
