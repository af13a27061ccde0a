package timer_test

import (
	"container/heap"
	"testing"
	"time"

	"github.com/atoll-sim/atoll/ext/timer"
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/world"
)

// BenchmarkSet sets timers in a system, beside pushes on a heap, which is what one would write by
// hand. It cancels them a thousand at a time; that time is told apart.
func BenchmarkSet(b *testing.B) {
	const each = 1000
	b.Run("by=timer", func(b *testing.B) {
		g := newGame(b, 1, 1, timer.Options{})
		h := g.create(1)
		var ids [each]timer.ID
		var sets, cancels time.Duration
		g.systems = func(c *world.Context) {
			for b.Loop() {
				began := time.Now()
				for i := range ids {
					ids[i], _ = g.timers.After(c, h, 100+i&63, Ping{N: i})
				}
				set := time.Now()
				for _, id := range ids {
					_ = g.timers.Cancel(c, id)
				}
				sets, cancels = sets+set.Sub(began), cancels+time.Since(set)
			}
		}
		b.ReportAllocs()
		g.step()
		perTimer(b, sets, each, "ns/set")
		perTimer(b, cancels, each, "ns/cancel")
	})
	b.Run("by=heap", func(b *testing.B) {
		var q alarms
		var sets time.Duration
		for b.Loop() {
			began := time.Now()
			for i := range each {
				heap.Push(&q, alarm{due: uint64(100 + i&63), order: i, body: Ping{N: i}})
			}
			sets += time.Since(began)
			q = q[:0]
		}
		perTimer(b, sets, each, "ns/set")
	})
}

func perTimer(b *testing.B, d time.Duration, each int, unit string) {
	b.ReportMetric(float64(d.Nanoseconds())/float64(b.N)/float64(each), unit)
}

// alarm is a timer in a heap.
type alarm struct {
	due   uint64
	order int
	to    handle.Handle
	body  Ping
}

type alarms []alarm

func (q alarms) Len() int { return len(q) }
func (q alarms) Less(i, j int) bool {
	return q[i].due < q[j].due || q[i].due == q[j].due && q[i].order < q[j].order
}
func (q alarms) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *alarms) Push(x any)   { *q = append(*q, x.(alarm)) }
func (q *alarms) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	*q = (*q)[:last]
	return x
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
			perTimer(b, b.Elapsed(), due, "ns/timer")
		})
	}
	b.Run("of-a-million/by=heap", func(b *testing.B) {
		const due, pending = 10_000, 1_000_000
		var q alarms
		tick, order := uint64(0), 0
		set := func(at uint64) {
			order++
			heap.Push(&q, alarm{due: at, order: order})
		}
		for range due {
			set(1)
		}
		for i := range pending {
			set(uint64(72_000 + i))
		}
		for b.Loop() {
			for tick++; q[0].due <= tick; {
				heap.Pop(&q)
				set(tick + 1)
			}
		}
		perTimer(b, b.Elapsed(), due, "ns/timer")
	})
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
