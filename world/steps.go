package world

import (
	"math/bits"

	"github.com/atoll-sim/atoll/internal/clock"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/stats"
)

// stepTimes measures the steps of refreshes that end ticks. A reading of the clock ends a step and
// begins the next one; a step that has nothing to do is not begun. World.Refresh is not measured:
// if it has little to do, measuring would take as long.
//
// Ownership: the coordinator. In a step that runs in parallel all may read at.
type stepTimes struct {
	scale   clock.Scale
	at      drive.RefreshStep
	tick    bool // the refresh ends a tick
	since   int64
	took    [drive.RefreshSteps]int64
	begun   uint32 // a bit for each step that was
	times   [drive.RefreshSteps]stats.Histogram
	waited  []int64 // the times since which the oldest request of each port in this refresh had waited
	latency stats.Histogram
	traced  bool
	spans   []drive.StepSpan // of the running refresh, if it is traced
}

// begin ends the running step, and begins one.
func (t *stepTimes) begin(step drive.RefreshStep) {
	if !t.tick {
		t.at = step
		return
	}
	now := clock.Now()
	t.end(now)
	t.at, t.since = step, now
	t.begun |= 1 << step
}

// end ends the running step, if there is one.
func (t *stepTimes) end(now int64) {
	if t.since == 0 {
		return
	}
	t.took[t.at] += now - t.since
	if t.traced {
		t.spans = append(t.spans, drive.StepSpan{Step: t.at, From: t.since, To: now})
	}
}

// start begins a refresh.
func (t *stepTimes) start() {
	t.since, t.begun, t.spans, t.waited = 0, 0, t.spans[:0], t.waited[:0]
	t.begin(drive.StepGather)
}

// settle ends the refresh, and counts.
func (t *stepTimes) settle() {
	if !t.tick && len(t.waited) == 0 {
		return
	}
	now := clock.Now()
	t.end(now)
	t.since = 0
	for ; t.begun != 0; t.begun &= t.begun - 1 {
		step := bits.TrailingZeros32(t.begun)
		t.times[step].Add(t.scale.Duration(t.took[step]))
		t.took[step] = 0
	}
	for _, since := range t.waited {
		t.latency.Add(t.scale.Duration(now - since))
	}
}

// Trace makes the coming refreshes keep their spans.
func (t *running) Trace(on bool) { t.refresh.stepTimes.traced = on }

// StepSpans returns the spans of the refresh, in order. They are good until the next one.
func (t *running) StepSpans() []drive.StepSpan { return t.refresh.stepTimes.spans }

// Step returns the step of the refresh that runs.
func (t *running) Step() drive.RefreshStep { return t.refresh.stepTimes.at }
