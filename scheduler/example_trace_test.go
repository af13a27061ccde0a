package scheduler_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"runtime/trace"
	"slices"
	"time"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

// Ticks are traced on demand, from any goroutine: what each worker did, and who waited for whom.
func ExampleScheduler_Trace() {
	w := world.MustNew(world.Options{Shards: 2, TickInterval: time.Millisecond})
	s := scheduler.New(w, scheduler.Options{})
	s.MustAdd("move", func(*world.Build) func(*world.Context) {
		return func(*world.Context) { time.Sleep(100 * time.Microsecond) }
	})
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		defer stop()
		traces, err := s.Trace(ctx, 3)
		if err != nil {
			fmt.Println(err)
		}
		for _, x := range traces {
			moves := 0
			for _, span := range x.Spans {
				if span.Kind == scheduler.SpanSystem && span.Name == "move" {
					moves++
				}
			}
			fmt.Println("moves:", moves)
		}
	}()
	_ = s.Run(ctx)
	// Output:
	// moves: 2
	// moves: 2
	// moves: 2
}

// Ticks that take longer than the budget are kept, to be looked at later.
func ExampleOverruns() {
	w := world.MustNew(world.Options{Shards: 1})
	s := scheduler.New(w, scheduler.Options{Budget: 10 * time.Millisecond})
	s.MustAdd("slow", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			if c.Tick() == 3 {
				time.Sleep(20 * time.Millisecond)
			}
		}
	})
	overruns := s.KeepOverruns(16)
	defer overruns.Close()
	for range 5 {
		_ = s.Step(context.Background())
	}
	for _, x := range overruns.Traces() {
		fmt.Println("the longest span of tick 3 is", longest(x).Name, x.Tick == 3)
	}
	// Output:
	// the longest span of tick 3 is slow true
}

// longest returns the span of a tick that took longest.
func longest(x scheduler.Trace) scheduler.Span {
	return slices.MaxFunc(x.Spans, func(a, b scheduler.Span) int { return cmp.Compare(a.To-a.From, b.To-b.From) })
}

// A server keeps an execution trace of the last second in memory. When a tick took longer
// than the budget, it writes down what happened, for `go tool trace`. Each system on each
// shard is a region of the trace.
func ExampleReport() {
	recorder := trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: time.Second})
	if err := recorder.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer recorder.Stop()

	w := world.MustNew(world.Options{Shards: 1, TickInterval: time.Millisecond})
	var s *scheduler.Scheduler
	s = scheduler.New(w, scheduler.Options{
		Budget: 50 * time.Millisecond,
		OnTick: func(r scheduler.Report) {
			if !r.Overrun {
				return
			}
			var file bytes.Buffer // os.Create, in a server
			if _, err := recorder.WriteTo(&file); err != nil {
				fmt.Println(err)
			}
			fmt.Println("the trace has the system:", bytes.Contains(file.Bytes(), []byte("system slow")))
			s.Stop()
		},
	})
	s.MustAdd("slow", func(*world.Build) func(*world.Context) {
		return func(c *world.Context) {
			if c.Tick() == 3 {
				time.Sleep(100 * time.Millisecond)
			}
		}
	})
	if err := s.Run(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// the trace has the system: true
}
