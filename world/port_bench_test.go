package world_test

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// benched is a world with a port, and n entities to be created and destroyed.
type benched struct {
	*fixture
	p   *world.Port
	all []handle.Handle
}

func newBenched(b *testing.B, n int) *benched {
	f := newFixture(b, world.Options{QueueRequests: 1 << 16, QueueBytes: 1 << 26})
	x := &benched{fixture: f, p: f.port(), all: make([]handle.Handle, n)}
	for range 20 {
		x.createEach()
		f.Refresh()
		x.destroyEach()
		f.Refresh()
	}
	return x
}

func (x *benched) createEach() {
	for i := range x.all {
		x.all[i], _ = x.mover.Create(x.p, Mover{Position{1, 2}, Velocity{3, 4}})
	}
}

func (x *benched) createBatches() {
	x.all = x.all[:0]
	for range cap(x.all) / 64 {
		x.all, _ = x.mover.AppendN(x.all, x.p, 64, func(_ int, m *Mover) { *m = Mover{Position{1, 2}, Velocity{3, 4}} })
	}
}

func (x *benched) destroyEach() {
	for _, h := range x.all {
		_ = x.p.Destroy(h)
	}
}

func (x *benched) destroyBatches() {
	for some := range slices.Chunk(x.all, 64) {
		_ = x.p.Batch(func() error {
			for _, h := range some {
				if err := x.p.Destroy(h); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// BenchmarkPort measures the way of requests through a port, in steps, each by its
// fastest round: what else the machine does makes a round slower, never faster.
func BenchmarkPort(b *testing.B) {
	const n = 4096
	for _, way := range []struct {
		name            string
		create, destroy func(*benched)
	}{
		{"singly", (*benched).createEach, (*benched).destroyEach},
		{"in batches of 64", (*benched).createBatches, (*benched).destroyBatches},
	} {
		b.Run(way.name, func(b *testing.B) {
			x := newBenched(b, n)
			steps := []struct {
				name string
				do   func()
				best time.Duration
			}{
				{name: "ns/create", do: func() { way.create(x) }},
				{name: "ns/created", do: x.Refresh},
				{name: "ns/destroy", do: func() { way.destroy(x) }},
				{name: "ns/destroyed", do: x.Refresh},
			}
			b.ReportAllocs()
			for b.Loop() {
				for i := range steps {
					s := &steps[i]
					start := time.Now()
					s.do()
					if d := time.Since(start); s.best == 0 || d < s.best {
						s.best = d
					}
				}
			}
			sum := 0.0
			for _, s := range steps {
				b.ReportMetric(float64(s.best.Nanoseconds())/n, s.name)
				sum += float64(s.best.Nanoseconds()) / n
			}
			b.ReportMetric(sum, "ns/pair")
		})
	}
}

// BenchmarkPortCall measures single calls of a sender, while nobody refreshes, and
// reports the slowest of a hundred.
func BenchmarkPortCall(b *testing.B) {
	for name, call := range map[string]func(x *benched, i int){
		"create":  func(x *benched, i int) { x.all[i], _ = x.mover.Create(x.p, Mover{}) },
		"destroy": func(x *benched, i int) { _ = x.p.Destroy(x.all[i]) },
		"set":     func(x *benched, i int) { _ = x.position.Set(x.p, x.all[i], Position{1, 2}) },
		"notify": func(x *benched, i int) {
			_ = x.p.Notify(new(world.Completion)).Destroy(x.all[i])
		},
	} {
		b.Run(name, func(b *testing.B) {
			x := newBenched(b, 1000)
			var took []time.Duration
			for b.Loop() {
				for i := range x.all {
					start := time.Now()
					call(x, i)
					took = append(took, time.Since(start))
				}
				b.StopTimer()
				x.Refresh()
				if len(took) > 1<<20 {
					took = took[:0]
				}
				b.StartTimer()
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
		})
	}
}

// BenchmarkPortsIdle refreshes a world with many open ports of which few send.
func BenchmarkPortsIdle(b *testing.B) {
	for _, n := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := newFixture(b, world.Options{})
			var p *world.Port
			for range n {
				p = f.port()
				require.NoError(b, p.Destroy(handle.None))
			}
			f.Refresh()
			b.ReportAllocs()
			for b.Loop() {
				_ = p.Destroy(handle.None)
				f.Refresh()
			}
		})
	}
}

// BenchmarkFunction calls a function on many entities.
func BenchmarkFunction(b *testing.B) {
	f := newFixture(b, world.Options{})
	heal, units, p := f.registerHeal(), f.newUnits(1000), f.port()
	b.ReportAllocs()
	for b.Loop() {
		for _, h := range units {
			_ = heal.Call(p, h, Heal{0})
		}
		f.Refresh()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/call")
}

// BenchmarkPortsTogether has goroutines create and destroy at once, each by a port of its
// own, and reports the fastest round of each step per call.
func BenchmarkPortsTogether(b *testing.B) {
	const calls = 1 << 15
	for _, ports := range []int{1, 2, 16, 64} {
		b.Run(fmt.Sprint(ports), func(b *testing.B) {
			f := newFixture(b, world.Options{QueueRequests: calls, QueueBytes: calls * 64})
			all := make([]*world.Port, ports)
			made := make([][]handle.Handle, ports)
			for i := range all {
				all[i], made[i] = f.port(), make([]handle.Handle, calls/ports)
			}
			together := func(do func(p *world.Port, made []handle.Handle)) time.Duration {
				var wg sync.WaitGroup
				start := time.Now()
				for i, p := range all {
					wg.Go(func() { do(p, made[i]) })
				}
				wg.Wait()
				return time.Since(start)
			}
			var create, created, destroyed time.Duration
			for n := 0; b.Loop(); n++ {
				made := together(func(p *world.Port, made []handle.Handle) {
					for k := range made {
						made[k], _ = f.mover.Create(p, Mover{})
					}
				})
				start := time.Now()
				f.Refresh()
				stored := time.Since(start)
				together(func(p *world.Port, made []handle.Handle) {
					for _, h := range made {
						_ = p.Destroy(h)
					}
				})
				start = time.Now()
				f.Refresh()
				freed := time.Since(start)
				if n == 0 {
					create, created, destroyed = made, stored, freed
				}
				create, created, destroyed = min(create, made), min(created, stored), min(destroyed, freed)
			}
			b.ReportMetric(float64(create.Nanoseconds())/calls, "ns/create")
			b.ReportMetric(float64(created.Nanoseconds())/calls, "ns/created")
			b.ReportMetric(float64(destroyed.Nanoseconds())/calls, "ns/destroyed")
		})
	}
}

// BenchmarkPortCreatesByShards creates a million entities by one port in worlds of few and of
// many shards: what that allocates beside the shards' first chunks, and its longest create,
// do not go by their number.
func BenchmarkPortCreatesByShards(b *testing.B) {
	const n = 1_000_000
	for _, shards := range []int{4, 2048} {
		b.Run(fmt.Sprint(shards), func(b *testing.B) {
			var bytes uint64
			var longest time.Duration
			for range b.N {
				b.StopTimer()
				f := newFixture(b, world.Options{Shards: shards, QueueRequests: 1 << 16, QueueBytes: 1 << 26})
				p := f.port()
				before := allocated()
				b.StartTimer()
				for made := 0; made < n; {
					began := time.Now()
					_, err := f.unit.Create(p, Unit{})
					longest = max(longest, time.Since(began))
					if err == nil {
						made++
						continue
					}
					f.Refresh()
				}
				f.Refresh()
				bytes += allocated() - before
			}
			b.ReportMetric(float64(bytes)/float64(b.N)/1e6, "MB")
			b.ReportMetric(float64(longest.Microseconds()), "longest-µs")
		})
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
