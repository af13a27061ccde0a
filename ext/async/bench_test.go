package async_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/atoll-sim/atoll/ext/async"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

const benchAsks = 1000

func at(_ context.Context, x Ask) (Reply, error) { return Reply{N: x.N}, nil }

// BenchmarkGo makes ticks in which a system asks 1,000 times: "ns/ask" is of Go alone. Without a
// Pool the ask times out; with one the function is called, and the result is delivered.
func BenchmarkGo(b *testing.B) {
	for _, pool := range []bool{false, true} {
		b.Run(map[bool]string{false: "times-out", true: "pool"}[pool], func(b *testing.B) {
			g := newGame(b, 1, 1, async.Options{Ticks: map[bool]int{false: 2, true: 1 << 20}[pool], Pending: 1 << 20}, at)
			if pool {
				g.attach(async.PoolOptions{Workers: 2})
			}
			h, asked, heard, spent := g.create(1), 0, 0, time.Duration(0)
			g.systems = func(c *world.Context) {
				heard += len(g.got[0])
				if heard < asked {
					return
				}
				asked += benchAsks
				began := time.Now()
				for i := range benchAsks {
					_, _ = g.call.Go(c, h, Ask{N: i})
				}
				spent += time.Since(began)
			}
			round := func() {
				for want := heard + benchAsks; heard < want; runtime.Gosched() {
					g.step()
				}
			}
			for range 10 {
				round()
			}
			spent = 0
			for b.Loop() {
				round()
			}
			b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N)/benchAsks, "ns/ask")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchAsks, "ns/result")
		})
	}
}

// BenchmarkByHand is BenchmarkGo as one writes it without this package: a goroutine for each ask,
// or two that read a channel, and a port that has a function called with the result, which sends a
// message.
func BenchmarkByHand(b *testing.B) {
	for _, goroutines := range []bool{true, false} {
		b.Run(map[bool]string{true: "goroutines", false: "channel"}[goroutines], func(b *testing.B) {
			g := newGame(b, 1, 1, async.Options{}, at)
			type ask struct {
				h handle.Handle
				x Ask
			}
			asks, results := make(chan ask, 2*benchAsks), make(chan ask, 2*benchAsks)
			done := world.RegisterFunc(g.World, "done", func(self *world.EntityContext, n int) {
				_ = g.replies.Send(self, self.Handle(), result{Value: Reply{N: n}})
			})
			port, _ := g.OpenPort()
			go func() {
				for x := range results {
					_ = done.Call(port.Within(context.Background()), x.h, x.x.N)
				}
			}()
			for range 2 {
				go func() {
					for x := range asks {
						_, _ = at(context.Background(), x.x)
						results <- x
					}
				}()
			}
			h, asked, heard, spent := g.create(1), 0, 0, time.Duration(0)
			g.systems = func(*world.Context) {
				heard += len(g.got[0])
				if heard < asked {
					return
				}
				asked += benchAsks
				began := time.Now()
				for i := range benchAsks {
					x := ask{h, Ask{N: i}}
					if goroutines {
						go func() {
							_, _ = at(context.Background(), x.x)
							results <- x
						}()
					} else {
						asks <- x
					}
				}
				spent += time.Since(began)
			}
			round := func() {
				for want := heard + benchAsks; heard < want; runtime.Gosched() {
					g.step()
				}
			}
			for range 10 {
				round()
			}
			spent = 0
			for b.Loop() {
				round()
			}
			b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N)/benchAsks, "ns/ask")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchAsks, "ns/result")
			close(asks)
		})
	}
}
