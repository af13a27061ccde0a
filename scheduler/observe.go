package scheduler

import (
	"context"
	"math/rand/v2"
	"runtime/pprof"
	"runtime/trace"
	"strconv"

	"github.com/atoll-sim/atoll/world"
)

// observer does the work around each step of a tick for the execution trace, profiles, the watchdog
// and chaos, as far as these are on. With all of them off, a step pays for one branch.
//
// Ownership: the coordinator's between ticks; the workers read it.
type observer struct {
	watchdog *watchdog
	labels   bool
	chaos    bool
	chance   rand.PCG        // for chaos, of the coordinator in a refresh
	tracing  context.Context // of the tick's task; nil while there is no trace
	task     *trace.Task
}

// begin begins the observation of the next tick, and reports whether anything is on.
func (o *observer) begin(ctx context.Context) bool {
	o.tracing, o.task = nil, nil
	if trace.IsEnabled() {
		o.tracing, o.task = trace.NewTask(ctx, "atoll tick")
	}
	if o.watchdog != nil {
		o.watchdog.begin()
	}
	return o.tracing != nil || o.labels || o.chaos || o.watchdog != nil
}

// end ends the observation of the tick.
func (o *observer) end(ctx context.Context) {
	if o.task != nil {
		o.task.End()
		o.tracing, o.task = nil, nil
	}
	if o.watchdog != nil {
		o.watchdog.end()
	}
	if o.labels {
		pprof.SetGoroutineLabels(ctx) // the caller's
	}
}

// region marks a part of the tick in the execution trace.
func (o *observer) region(name string) func() {
	if o.tracing == nil {
		return func() {}
	}
	return trace.StartRegion(o.tracing, name).End
}

// observe runs a step under observation.
func (t *tick) observe(w *worker, s *step, c *world.Context) {
	if t.labels {
		pprof.SetGoroutineLabels(s.labels)
		defer pprof.SetGoroutineLabels(context.Background())
	}
	if t.watchdog != nil {
		w.since.Store(w.now)
		w.running.Store(s)
		defer w.running.Store(nil)
	}
	if t.tracing != nil {
		defer trace.StartRegion(t.tracing, "system "+s.system.name).End()
		trace.Log(t.tracing, "shard", strconv.Itoa(c.Shard()))
	}
	if t.chaos {
		randomDelay(&w.chance)
	}
	s.run(c)
}
