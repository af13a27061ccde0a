package scheduler

import (
	"time"

	"github.com/atoll-sim/atoll/world"
)

// outside is what the goroutine of Run or Step did besides ticks since the last one. The next tick
// comes that much later, so it counts for that tick.
//
// Ownership: the goroutine of Run or Step.
type outside struct {
	took  time.Duration
	spans []Span // from 0 on, each; only while ticks are traced
}

// What is done outside of ticks.
const (
	inOnTick       = "OnTick"
	inBetweenTicks = "functions of Between"
	beforeTick     = "idle world"
)

// leastSpan is how long something outside of ticks must take to have a span.
const leastSpan = 10 * time.Microsecond

// workedOutside counts what was done outside of ticks since a time, up to now.
func (s *Scheduler) workedOutside(on string, since time.Time) {
	s.tookOutside(on, time.Since(since))
}

// tookOutside counts what was done outside of ticks.
func (s *Scheduler) tookOutside(on string, took time.Duration) {
	o := &s.outside
	o.took += took
	if took >= leastSpan && len(o.spans) < TraceSpansMax && s.traces.wanted.Load() {
		o.spans = append(o.spans, Span{Kind: SpanBetween, Name: on, Shard: world.AllShards, For: world.AllShards, To: took})
	}
}

// forget begins anew: with a tick that is over, or because no tick was due meanwhile.
func (o *outside) forget() { o.took, o.spans = 0, o.spans[:0] }
