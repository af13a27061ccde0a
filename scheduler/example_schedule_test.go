package scheduler_test

import (
	"context"
	"fmt"
	"time"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// The components and resources of the examples.
type (
	Warmth struct{ Degrees float64 }
	Sun    struct{ Hour int }
	Mean   struct {
		Sum float64
		N   int
	}
	rock struct{ Warmth }
)

// newRocks is a world of rocks that lie in the sun.
func newRocks() *world.World {
	w := world.MustNew(world.Options{Shards: 4, Seed: 1})
	world.Register[Warmth](w, "warmth")
	world.RegisterResource(w, "sun", Sun{Hour: 12})
	world.RegisterAccumulator(w, "mean", func(total, part *Mean) {
		total.Sum += part.Sum
		total.N += part.N
	})
	_ = world.NewBundle[rock](w).CreateN(w, 100, nil)
	return w
}

// addRockSystems adds them in no particular order.
func addRockSystems(s *scheduler.Scheduler) {
	s.MustAdd("tell", func(b *world.Build) func(*world.Context) {
		mean := world.ReadResource[Mean](b)
		return func(c *world.Context) {
			fmt.Printf("tick %d: %d rocks of %.1f degrees\n", c.Tick(), mean.Get().N, mean.Get().Sum/float64(mean.Get().N))
		}
	}, scheduler.Global(), scheduler.In(scheduler.PostUpdate), scheduler.Every(2, 1))
	s.MustAdd("measure", func(b *world.Build) func(*world.Context) {
		warmth, mine := world.Read[Warmth](b), world.Accumulate[Mean](b)
		all := b.Query(warmth)
		return func(*world.Context) {
			for ch := range all.Chunks() {
				for _, x := range warmth.Slice(ch) {
					mine.Sum += x.Degrees
					mine.N++
				}
			}
		}
	}, scheduler.After("shine"))
	s.MustAdd("shine", func(b *world.Build) func(*world.Context) {
		warmth, sun := world.Write[Warmth](b), world.ReadResource[Sun](b)
		all := b.Query(warmth)
		return func(*world.Context) {
			for ch := range all.Chunks() {
				for i := range warmth.Slice(ch) {
					warmth.Slice(ch)[i].Degrees += float64(sun.Get().Hour) / 10
				}
			}
		}
	})
	s.MustAdd("turn", func(b *world.Build) func(*world.Context) {
		sun := world.WriteResource[Sun](b)
		return func(*world.Context) { sun.Hour = (sun.Hour + 1) % 24 }
	}, scheduler.Global(), scheduler.In(scheduler.PreUpdate))
}

// Systems in stages: a global one turns the hour, the shards read it and add up
// what they measure, and another global one tells of the sum every other tick.
func ExampleScheduler_Add() {
	s := scheduler.New(newRocks(), scheduler.Options{})
	addRockSystems(s)
	for range 4 {
		if err := s.Step(context.Background()); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// tick 1: 100 rocks of 2.7 degrees
	// tick 3: 100 rocks of 5.8 degrees
}

// The schedule says in which order systems run, and who waits for whom, and why.
func ExampleScheduler_Schedule() {
	s := scheduler.New(newRocks(), scheduler.Options{})
	addRockSystems(s)
	schedule, err := s.Schedule()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(schedule)
	// Output:
	// 1. turn (PreUpdate; once per tick)
	// 2. shine
	//    waits for the world to pass turn
	//       "sun": written, then read
	// 3. measure
	// 4. merge "mean" (once per tick)
	//    waits for all shards to pass measure
	//       "mean": added to, then written
	// 5. tell (PostUpdate; once per tick; every 2 ticks, from 1 on)
}

// A run that is paused, makes one tick by hand, and is stopped.
func ExampleScheduler_Run() {
	w := newRocks()
	s := scheduler.New(w, scheduler.Options{OnTick: func(r scheduler.Report) {
		fmt.Println("made tick", r.Tick)
	}})
	s.MustAdd("stop", func(*world.Build) func(*world.Context) {
		return func(*world.Context) { s.Stop() }
	})
	s.Pause()
	s.StepOnce()
	fmt.Println(s.Run(context.Background()), w.Tick())
	// Output:
	// made tick 0
	// <nil> 1
}

// What each system took, for a log or a dashboard.
func ExampleScheduler_Stats() {
	s := scheduler.New(newRocks(), scheduler.Options{})
	addRockSystems(s)
	_ = s.Step(context.Background())
	var all scheduler.Stats // used again each time
	s.Stats(&all)
	for _, x := range all.Systems {
		fmt.Println(x.Name, x.Runs, x.Total > 0, x.Max <= x.Total)
	}
	turns, _ := s.AppendShards(nil, "shine") // of one system, by shard
	fmt.Println("shine runs on", len(turns), "shards:", turns[0].P50 <= turns[0].P99)
	fmt.Println("ticks:", all.Time.Count(), all.Time.Quantile(0.5) <= all.Time.Max())
	for _, x := range all.Waits { // who held up the tick
		if x.Time > 10*time.Second {
			fmt.Printf("shard %d waited %v for shard %d\n", x.Shard, x.Time, x.For)
		}
	}
	// Output:
	// turn 1 true true
	// shine 4 true true
	// measure 4 true true
	// merge "mean" 1 true true
	// tell 0 false true
	// shine runs on 4 shards: true
	// ticks: 1 true
}
