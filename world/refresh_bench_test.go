package world_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world"
)

// BenchmarkRefreshEmpty ends a tick in which nothing was asked for: in a world
// that never had a port, in one with idle ports, and in one of many shards.
func BenchmarkRefreshEmpty(b *testing.B) {
	for _, test := range []struct{ shards, ports int }{{1, 0}, {4, 0}, {4, 1}, {4, 1000}, {64, 0}} {
		b.Run(fmt.Sprintf("shards=%d/ports=%d", test.shards, test.ports), func(b *testing.B) {
			f := newFixture(b, world.Options{Shards: test.shards})
			for range test.ports {
				f.port()
			}
			f.newUnits(1000)
			f.Refresh()
			for b.Loop() {
				f.Refresh()
			}
		})
	}
}

// BenchmarkDestroyOne creates an entity, destroys it and refreshes.
func BenchmarkDestroyOne(b *testing.B) {
	for _, shards := range []int{1, 4} {
		b.Run(fmt.Sprintf("shards=%d", shards), func(b *testing.B) {
			f := newFixture(b, world.Options{Shards: shards})
			for b.Loop() {
				h, _ := f.unit.Create(f.World, Unit{})
				f.Destroy(h)
				f.Refresh()
			}
		})
	}
}

// BenchmarkRefreshDead refreshes a million entities of which a share, at random,
// is marked, and tells the least time, by one goroutine and by two. They are made
// anew afterwards.
func BenchmarkRefreshDead(b *testing.B) {
	const n = 1 << 20
	for _, permille := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("dead=%d/1000", permille), func(b *testing.B) {
			f := newFixture(b, world.Options{})
			all := make([]handle.Handle, n)
			for i := range all {
				all[i], _ = f.mover.Create(f.World, Mover{})
			}
			r := rand.New(rand.NewPCG(1, 1))
			dead := n * permille / 1000
			least := [2]time.Duration{math.MaxInt64, math.MaxInt64}
			for round := range 2 * b.N {
				for i := range dead {
					k := i + r.IntN(n-i)
					all[i], all[k] = all[k], all[i]
					f.Destroy(all[i])
				}
				parallel, stop := workers(1 + round%2)
				began := time.Now()
				engine.Of(f.World).BeginTick().End(parallel)
				least[round%2] = min(least[round%2], time.Since(began))
				stop()
				for i := range dead {
					all[i], _ = f.mover.Create(f.World, Mover{})
				}
			}
			b.ReportMetric(float64(least[0].Nanoseconds())/float64(dead), "ns/dead")
			b.ReportMetric(float64(least[1].Nanoseconds())/float64(dead), "ns/dead-by-2")
		})
	}
}

// BenchmarkRequests refreshes what systems and ports sent: each of 8 shards or 8
// ports 1,000 requests to entities everywhere. It tells the least time, by one
// goroutine and by two.
func BenchmarkRequests(b *testing.B) {
	for _, kind := range []string{"message", "set", "create"} {
		for _, from := range []string{"systems", "ports"} {
			if kind == "create" && from == "systems" {
				continue
			}
			b.Run(kind+"/"+from, func(b *testing.B) { benchmarkRequests(b, kind, from) })
		}
	}
}

func benchmarkRequests(b *testing.B, kind, from string) {
	const each, senders = 1000, 8
	f := newFixture(b, world.Options{Shards: senders})
	all := f.newUnits(100_000)
	r := rand.New(rand.NewPCG(1, 1))
	r.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	at := 0
	send := func(by world.Actor) {
		for range each {
			h := all[at]
			at = (at + 1) % len(all)
			var err error
			switch kind {
			case "message":
				err = f.hit.Send(by, h, Hit{1})
			case "set":
				err = f.health.Set(by, h, Health{1})
			case "create":
				_, err = f.unit.Create(by, Unit{})
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	ports := make([]*world.Port, senders)
	for i := range ports {
		ports[i] = f.port()
	}
	system := f.build(func(bd *world.Build) func(*world.Context) {
		world.Write[Health](bd)
		return func(c *world.Context) { send(c) }
	})
	units := f.Query(world.Read[Health](f.World))
	least := [2]time.Duration{math.MaxInt64, math.MaxInt64}
	for n := range 2 * b.N {
		t := engine.Of(f.World).BeginTick()
		for i := range senders {
			if from == "ports" {
				send(ports[i])
				continue
			}
			c := (*world.Context)(engine.Of(f.World).Context(i))
			(*engine.Context)(c).Acting().Start("test", system[i].access)
			system[i].run(c)
			(*engine.Context)(c).Acting().Stop()
		}
		parallel, stop := workers(1 + n%2)
		began := time.Now()
		t.End(parallel)
		least[n%2] = min(least[n%2], time.Since(began))
		stop()
		if kind == "create" {
			units.Destroy()
			f.Refresh()
		}
	}
	b.ReportMetric(float64(least[0].Nanoseconds())/senders/each, "ns/request")
	b.ReportMetric(float64(least[1].Nanoseconds())/senders/each, "ns/request-by-2")
}

// workers returns a extend.Parallel of one goroutine or of two. The second looks for work all
// the time until stop, as a scheduler's workers do within a tick.
func workers(n int) (parallel extend.Parallel, stop func()) {
	if n == 1 {
		return serial, func() {}
	}
	var p awake
	p.other.Go(func() {
		p.ready.Store(true)
		for seen := int64(0); seen >= 0; {
			if called := p.called.Load(); called != seen {
				if seen = called; seen > 0 {
					p.work()
					p.done.Store(seen)
				}
			}
		}
	})
	for !p.ready.Load() {
		runtime.Gosched()
	}
	return p.run, func() {
		p.called.Store(-1)
		p.other.Wait()
	}
}

// awake is two goroutines that share the parts of steps.
type awake struct {
	n                   int
	f                   func(int)
	taken, called, done atomic.Int64 // called is the number of the step, -1 after the last
	ready               atomic.Bool
	other               sync.WaitGroup
}

func (p *awake) run(n int, f func(int)) {
	p.n, p.f = n, f
	p.taken.Store(0)
	step := p.called.Add(1)
	p.work()
	for p.done.Load() != step {
		runtime.Gosched()
	}
}

func (p *awake) work() {
	for i := int(p.taken.Add(1)) - 1; i < p.n; i = int(p.taken.Add(1)) - 1 {
		p.f(i)
	}
}

// pair is an extend.Parallel of two goroutines.
func pair(n int, f func(int)) {
	var taken atomic.Int64
	work := func() {
		for i := int(taken.Add(1)) - 1; i < n; i = int(taken.Add(1)) - 1 {
			f(i)
		}
	}
	var other sync.WaitGroup
	other.Go(work)
	work()
	other.Wait()
}
