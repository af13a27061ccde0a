package timer_test

import (
	"testing"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/timer"
	"github.com/atoll-sim/atoll/world"
)

// BenchmarkSet sets a timer in a system and cancels it.
func BenchmarkSet(b *testing.B) {
	g := newGame(b, 1, 1, timer.Options{})
	h := g.create(1)
	g.systems = func(c *world.Context) {
		for b.Loop() {
			id, _ := g.timers.After(c, h, 100, Ping{N: 1})
			_ = g.timers.Cancel(c, id)
		}
	}
	b.ReportAllocs()
	g.step()
}

// BenchmarkDue makes ticks in which 10,000 timers are due, of entities in four shards.
func BenchmarkDue(b *testing.B) {
	for _, pending := range []int{0, 1_000_000} {
		b.Run(map[int]string{0: "alone", 1_000_000: "of-a-million"}[pending], func(b *testing.B) {
			const due = 10_000
			g := newGame(b, 4, 2, timer.Options{})
			var hs []handle.Handle
			for i := range due {
				hs = append(hs, g.create(i))
				g.must(g.timers.Every(g.World, hs[i], 1, Ping{N: i}))
			}
			for i := range pending {
				g.must(g.timers.After(g.World, hs[i%due], 72_000+i, Ping{N: i}))
			}
			g.until(3)
			for b.Loop() {
				g.step()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/due, "ns/timer")
		})
	}
}

// BenchmarkRound makes ticks in which nothing is due, with a million timers set.
func BenchmarkRound(b *testing.B) {
	for _, timers := range []int{0, 1_000_000} {
		b.Run(map[int]string{0: "none", 1_000_000: "a-million"}[timers], func(b *testing.B) {
			g := newGame(b, 4, 2, timer.Options{})
			h := make([]handle.Handle, 10_000)
			for i := range h {
				h[i] = g.create(i)
			}
			for i := range timers {
				g.must(g.timers.After(g.World, h[i%len(h)], 72_000+i, Ping{}))
			}
			g.until(3)
			for b.Loop() {
				g.step()
			}
		})
	}
}
