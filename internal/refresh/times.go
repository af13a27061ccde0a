package refresh

import (
	"math/bits"

	"github.com/atoll-sim/atoll/internal/clock"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/world/stats"
)

// Times measures the steps of refreshes that end ticks. A reading of the clock ends a step and
// begins the next one; a step that has nothing to do is not begun. Of World.Refresh only Latency is
// measured: if it has little to do, measuring the steps would take as long.
//
// Ownership: the coordinator.
type Times struct {
	At      extend.RefreshStep // the step that runs, or ran last
	Steps   *StepTimes         // nil until a tick ends: they would be most of a new world's memory
	Latency stats.Histogram    // see world.Stats
	Traced  bool               // refreshes keep their spans
	Spans   []extend.StepSpan  // of the newest refresh, in order, if it is traced

	scale  clock.Scale
	tick   bool // the refresh ends a tick
	since  int64
	took   [extend.RefreshSteps]int64
	begun  uint32  // a bit for each step that was
	waited []int64 // the times since which the oldest request of each port in this refresh had waited
}

// StepTimes has a histogram for each step.
type StepTimes [extend.RefreshSteps]stats.Histogram

// begin ends the running step, and begins one. In a refresh that ends no tick it only notes which.
func (t *Times) begin(step extend.RefreshStep) {
	if !t.tick {
		t.At = step
		return
	}
	now := clock.Now()
	t.end(now)
	t.At, t.since = step, now
	t.begun |= 1 << step
}

// end ends the running step, if there is one.
func (t *Times) end(now int64) {
	if t.since == 0 {
		return
	}
	t.took[t.At] += now - t.since
	if t.Traced {
		t.Spans = append(t.Spans, extend.StepSpan{Step: t.At, From: t.since, To: now})
	}
}

// start begins the times of a refresh, and its first step.
func (t *Times) start() {
	t.since, t.begun, t.Spans, t.waited = 0, 0, t.Spans[:0], t.waited[:0]
	t.begin(extend.StepGather)
}

// settle ends the last step of the refresh, and adds the times to the histograms.
func (t *Times) settle() {
	if !t.tick && len(t.waited) == 0 {
		return
	}
	now := clock.Now()
	t.end(now)
	t.since = 0
	if t.begun != 0 && t.Steps == nil {
		t.Steps = new(StepTimes)
	}
	for ; t.begun != 0; t.begun &= t.begun - 1 {
		step := bits.TrailingZeros32(t.begun)
		t.Steps[step].Add(t.scale.Duration(t.took[step]))
		t.took[step] = 0
	}
	for _, since := range t.waited {
		t.Latency.Add(t.scale.Duration(now - since))
	}
}
