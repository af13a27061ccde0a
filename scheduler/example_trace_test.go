package scheduler_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime/trace"
	"time"

	"github.com/atoll-sim/atoll/scheduler"
	"github.com/atoll-sim/atoll/world"
)

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
