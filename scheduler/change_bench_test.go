package scheduler_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Stance comes and goes; Stances is a bundle with it.
type (
	Stance  struct{ A, B float64 }
	Stances struct {
		Stance
		Velocity
	}
)

// BenchmarkChange makes pairs of ticks: in the first a system gives a component to entities, by
// request, and in the second it takes it away again. It tells the time of a pair by entity that
// changes: if all do, a tenth at random, or every second one.
func BenchmarkChange(b *testing.B) {
	for _, n := range []int{16, 64, 1 << 10, 16 << 10, 256 << 10} {
		for _, who := range []string{"all", "tenth", "second"} {
			for _, how := range []string{"component", "bundle"} {
				if n > 16<<10 && how == "bundle" || n < 1<<10 && who == "tenth" {
					continue
				}
				b.Run(fmt.Sprintf("%d/%s/%s", n, who, how), func(b *testing.B) { benchmarkChange(b, n, who, how) })
			}
		}
	}
}

func benchmarkChange(b *testing.B, n int, who, how string) {
	w := world.MustNew(world.Options{})
	position := world.Register[Position](w, "position")
	stance := world.Register[Stance](w, "stance")
	world.Register[Velocity](w, "velocity")
	stances := world.NewBundle[Stances](w)
	all := world.NewBundle[struct{ Position }](w)
	if err := all.CreateN(w, n, nil); err != nil {
		b.Fatal(err)
	}
	_ = position
	s := scheduler.New(w, scheduler.Options{Workers: 1})
	changed := 0
	add := func(c *world.Context, h handle.Handle) error {
		if how == "bundle" {
			return stances.Add(c, h, Stances{})
		}
		return stance.Add(c, h, Stance{})
	}
	remove := func(c *world.Context, h handle.Handle) error { return stance.Remove(c, h) }
	s.MustAdd("change", func(b *world.Build) func(*world.Context) {
		with, without := b.Query(world.With[Stance](b)), b.Query(world.With[Position](b), world.Without[Stance](b))
		return func(c *world.Context) {
			q, change := without, add
			if c.Tick()%2 != 0 {
				q, change = with, remove
			}
			for ch := range q.Chunks() {
				for i, h := range ch.Handles() {
					if c.Tick()%2 == 0 && (who == "tenth" && c.Rand().IntN(10) != 0 || who == "second" && i%2 == 0) {
						continue
					}
					changed++
					if err := change(c, h); err != nil {
						panic(err)
					}
				}
			}
		}
	})
	ctx := context.Background()
	for range 4 {
		if err := s.Step(ctx); err != nil {
			b.Fatal(err)
		}
	}
	changed = 0
	for b.Loop() {
		for range 2 {
			if err := s.Step(ctx); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(max(1, changed/2)), "ns/change")
}
