package guide_test

import (
	"context"
	"fmt"
	"time"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Fleet is a sum over all ships.
type Fleet struct{ Ships, Points int }

// Count adds up the ships of its shard.
func Count(b *world.Build) func(*world.Context) {
	part, hull := world.Accumulate[Fleet](b), world.Read[Hull](b)
	fleet := b.Query(hull)
	return func(*world.Context) {
		for ch := range fleet.Chunks() {
			for _, h := range hull.Slice(ch) {
				part.Ships++
				part.Points += h.Points
			}
		}
	}
}

// Report tells of the sum.
func Report(b *world.Build) func(*world.Context) {
	fleet := world.ReadResource[Fleet](b)
	return func(*world.Context) { fmt.Println(fleet.Get()) }
}

func Example_accumulator() {
	w, ships := newSea()
	_ = ships.CreateN(w, 1000, func(_ int, s *Ship) { s.Hull.Points = 5 })

	world.RegisterAccumulator(w, "fleet", func(total, part *Fleet) {
		total.Ships += part.Ships
		total.Points += part.Points
	})
	s := scheduler.New(w, scheduler.Options{})
	s.MustAdd("count", Count)
	s.MustAdd("report", Report, scheduler.Global())
	_ = s.Step(context.Background())
	// Output:
	// {1000 5000}
}

func Example_hook() {
	w, ships := newSea()

	w.Observe("wrecks", world.OnDestroy, func(b *world.Build) func(*world.Context, world.Event, []handle.Handle) {
		pos := world.Read[Position](b)
		return func(_ *world.Context, _ world.Event, sunk []handle.Handle) {
			for _, h := range sunk {
				fmt.Println(h, "sank at", *pos.Get(h))
			}
		}
	})
	h, _ := ships.Create(w, Ship{Position: Position{10, 20}})
	w.Refresh()
	w.Destroy(h)
	w.Refresh()
	// Output:
	// 0:0@1 sank at {10 20}
}

func Example_flag() {
	w, ships := newSea()
	h, _ := ships.Create(w, Ship{})
	_, _ = ships.Create(w, Ship{})
	port, _ := w.OpenPort()

	const burning world.Flags = 1 << 0
	_ = world.AddFlags(port, h, burning)
	fmt.Println(world.FlagsOf(port, h)&burning != 0)
	w.Refresh()
	fmt.Println(world.FlagsOf(port, h)&burning != 0, w.Query(world.WithFlags(w, burning)).Count())
	// Output:
	// false
	// true 1
}

func Example_between() {
	w, ships := newSea()
	_ = ships.CreateN(w, 2, nil)
	s := scheduler.New(w, scheduler.Options{}).MustAdd("sail", Sail)
	_ = s.Step(context.Background())
	s.Pause()
	go func() { _ = s.Run(context.Background()) }()

	err := <-s.Between(func(w *world.World) {
		fmt.Println("ships at tick", w.Tick(), "are", w.Query(world.With[Hull](w)).Count())
	})
	s.Stop()
	fmt.Println(err)
	// Output:
	// ships at tick 1 are 2
	// <nil>
}

func Example_metrics() {
	w, ships := newSea()
	_, _ = ships.Create(w, Ship{})

	var s *scheduler.Scheduler
	var ticks scheduler.Stats // used again each time
	var held world.Stats
	s = scheduler.New(w, scheduler.Options{OnTick: func(r scheduler.Report) {
		s.Stats(&ticks)
		w.Stats(&held)
		late := ticks.Time.Quantile(0.99) > 50*time.Millisecond
		for _, x := range ticks.Systems {
			fmt.Println(r.Tick, x.Name, x.Runs, x.Time.Quantile(0.5) <= x.Time.Max(), late, w.Count())
		}
		s.Stop()
	}})
	s.MustAdd("sail", Sail)
	_ = s.Run(context.Background())
	// Output:
	// 0 sail 4 true false 1
}
