package scheduler

import (
	"context"
	"math/rand/v2"
	"runtime/pprof"
	"runtime/trace"
)

// SpanKind says what a Span is.
type SpanKind int

// The kinds of spans.
const (
	SpanSystem  SpanKind = iota // a run of a system
	SpanWait                    // a shard waited at a fence
	SpanBalance                 // the Balancer decided
	SpanStep                    // a step of the refresh, or a part of one
	SpanBetween                 // what came before the tick, since the last one
	SpanCommit                  // the tick waited for its log; not part of its Duration
)

// String returns "system", "wait", "balance", "step", "between" or "commit".
func (s SpanKind) String() string {
	return named("SpanKind", s, SpanSystem, "system", "wait", "balance", "step", "between", "commit")
}

// span is a Span as a worker records it, in ticks of the clock.
type span struct {
	kind     SpanKind
	number   int32 // of the system, or of the step
	shard    int32
	from, to int64
}

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
