package world

import "github.com/atoll-sim/atoll/internal/drive"

// running is a world whose tick runs, as a drive.Tick. Package drive has the comments.
type running World

var _ drive.Tick[*PanicError] = (*running)(nil)

func (d *driven) BeginTick() drive.Tick[*PanicError] {
	w := d.w()
	w.enterPhase(beginTick, phaseTick)
	w.engine.By(drive.ByTick)
	w.engine.Mail.Forward()
	w.space.Reveal(w.shards)
	begun := false
	defer w.guard(&begun)
	w.engine.Extensions.Begin()
	w.engine.Extensions.Derive(drive.Alone)
	begun = true
	return (*running)(w)
}

// beginTick is what messages call the beginning of a tick.
const beginTick = "a new tick"

func (t *running) Number() uint64 { return t.engine.Tick.Load() }

func (t *running) Entities(shard int) int { return t.shards[shard].Alive() }

func (t *running) Transfer(transfers []drive.Transfer) { t.engine.Transfer(transfers) }

func (t *running) End(parallel drive.Parallel) {
	t.Refresh(parallel)
	t.Leave()
}

func (t *running) Leave() {
	if w := (*World)(t); w.phase.Load() == phaseRefresh {
		w.leavePhase()
	}
}

func (t *running) Refresh(parallel drive.Parallel) {
	w := (*World)(t)
	if !w.phase.CompareAndSwap(phaseTick, phaseRefresh) {
		if w.phase.Load() == phaseOver {
			w.mustIdle("the end of a tick")
		}
		panic("world: the end of a tick that is over; end each tick once")
	}
	w.doRefresh(parallel, false)
}

func (t *running) Break(value any) error {
	w := (*World)(t)
	w.fail(newBroken(w, "the scheduler", value))
	return w.Err()
}

func (t *running) Failures() (all []*PanicError, omitted int, err error) {
	w := (*World)(t)
	omitted, err = w.omitted()
	return w.failures(), omitted, err
}

func (t *running) FailedHooks() []*PanicError { return (*World)(t).failedHooks() }

func (t *running) DisableHook(e *PanicError, shard int) {
	if shard == AllShards {
		e.hook.off = true
		return
	}
	(*drivenHook)(e.hook).Disable(shard)
}

// Trace makes the coming refreshes keep their spans.
func (t *running) Trace(on bool) { t.engine.Times.Traced = on }

// StepSpans returns the spans of the refresh, in order. They are good until the next one.
func (t *running) StepSpans() []drive.StepSpan { return t.engine.Times.Spans }

// Step returns the step of the refresh that runs.
func (t *running) Step() drive.RefreshStep { return t.engine.Times.At }

func (t *running) FailedRecorder() *PanicError { return t.recorderErr }
