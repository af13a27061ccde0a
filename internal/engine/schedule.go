package engine

import (
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/extend"
)

// Context returns the Context that systems act through on a shard, or with AllShards the Context of
// global systems, which act one at a time. It is the same in each tick. Only the one worker that
// runs the shard, or a global system, may use it.
func (w *World) Context(shard int) *Context {
	if shard == AllShards {
		shard = len(w.shards)
	}
	return w.contexts[shard]
}

// Acting returns the part of the Context that says which system it acts for. It is for the
// scheduler.
func (c *Context) Acting() *extend.Acting { return &c.acting }

// Replayed calls a function between ticks on the idle world that a replay calls as well: what it
// changes needs no log. The scheduler calls it.
func (w *World) Replayed(f func()) {
	w.replayed = true
	defer func() { w.replayed = false }()
	f()
	switch {
	case !w.Idle():
	case w.seals:
		w.replayed = false
		w.LookForChanges()
	default:
		w.leave()
	}
}

// Rung chooses the rung of the ladder that the next tick runs with, which is recorded, and returns
// it; while inputs are replayed it returns the recorded one. The scheduler calls it before the
// tick.
func (w *World) Rung(wanted uint8) uint8 {
	w.engine.Rung = max(wanted, w.rungLeast)
	if f := w.engine.Replay; f != nil {
		w.engine.Rung = f.Rung
	}
	return w.engine.Rung
}

// Switch has systems switched before the next tick, which is recorded. While inputs are replayed,
// the recorded ones are, which it returns.
func (w *World) Switch(wanted []extend.Switch) []extend.Switch {
	w.engine.Switches = wanted
	if f := w.engine.Replay; f != nil {
		w.engine.Switches, f.Switches = f.Switches, nil
	}
	return w.engine.Switches
}

// Logged reports whether inputs are recorded or replayed.
func (w *World) Logged() bool { return w.logged.Load() }

// Replaying reports whether inputs are replayed.
func (w *World) Replaying() bool { return w.engine.Replay != nil }

// Stretch sets over how many times as many runs Turns spreads entities in the systems of the next
// tick. The scheduler calls it before the tick.
func (w *World) Stretch(times uint32) { w.stretch = times }

// RefuseAtPorts adds rungs, which may be negative, to the number of rungs that refuse x at ports.
// Ports see it at once. It returns false, and changes nothing, if x belongs to another world.
func (w *World) RefuseAtPorts(x Refusable, rungs int) (name string, ok bool) {
	if isNil(x) {
		return "", false
	}
	of := x.requested()
	if of.w != w {
		return of.name, false
	}
	atomic.AddInt32(&of.kind.Refused, int32(rungs))
	return of.name, true
}

// ComponentName returns the name of a component, by the number that an Access has.
func (w *World) ComponentName(id int) string { return w.components[id].name }

// ResourceName returns the name of a resource, by the number that an Access has.
func (w *World) ResourceName(id int) string { return w.resources[id].Name() }

// MergeResource merges the parts of an accumulator. The scheduler calls it as a global system, when
// every shard has passed the last system that adds to it.
func (w *World) MergeResource(id int) { w.resources[id].Merge() }

// Tick is a running tick of a world: the right to run systems on its shards.
//
// Ownership: the goroutine that began it.
type Tick World

// BeginTick takes the idle world for a tick; the scheduler calls it. It panics if a tick is running
// already, or within a query loop, and with a *world.BrokenError if an extension panics.
func (w *World) BeginTick() *Tick {
	w.enterPhase(beginTick, phaseTick)
	w.engine.By(extend.ByTick)
	w.engine.Mail.Forward()
	w.space.Reveal(w.shards)
	begun := false
	defer w.guard(&begun)
	w.engine.Extensions.Begin()
	w.engine.Extensions.Derive(extend.Alone)
	begun = true
	return (*Tick)(w)
}

// beginTick is what messages call the beginning of a tick.
const beginTick = "a new tick"

// Number returns the number of the tick, from 0.
func (t *Tick) Number() uint64 { return t.engine.Tick.Load() }

// Seal fixes what the refresh of this tick will apply, and has it recorded, if ticks are sealed. The
// systems have not begun.
func (t *Tick) Seal() {
	if t.seals {
		t.engine.Seal()
	}
}

// Commit waits until the log has what Seal has fixed. If it returns an error, the world is closed
// and the tick is over; otherwise Refresh follows.
func (t *Tick) Commit() error {
	err := t.engine.Commit()
	if err != nil {
		(*World)(t).lose(err)
	}
	return err
}

// Sealed reports whether this tick is sealed.
func (t *Tick) Sealed() bool { return t.seals && t.engine.Sealed() }

// Entities returns the number of entities in a shard, dying ones included, while no system runs.
func (t *Tick) Entities(shard int) int { return t.shards[shard].Alive() }

// Shift decides that entities move at the refresh, before Seal if ticks are sealed. While inputs
// are replayed it does nothing: the recorded decisions count. It panics if there are no such
// shards, or if there is nothing to move.
func (t *Tick) Shift(shifts []extend.Shift) { t.engine.Shift(shifts) }

// End is Refresh, Leave and Tell, for a scheduler that does nothing between them.
func (t *Tick) End(parallel extend.Parallel) {
	t.Refresh(parallel)
	t.Leave()
	(*World)(t).Tell()
}

// Leave makes the world idle after a Refresh, unless it is closed. World.Tell follows.
func (t *Tick) Leave() {
	(*World)(t).afterRefresh()
}

// Refresh refreshes the world, running the steps with parallel. No system may be running. It panics
// as World.Refresh does if the world breaks.
func (t *Tick) Refresh(parallel extend.Parallel) {
	w := (*World)(t)
	if !w.phase.CompareAndSwap(phaseTick, phaseRefresh) {
		if w.phase.Load() == phaseOver {
			w.mustIdle("the end of a tick")
		}
		panic("world: the end of a tick that is over; end each tick once")
	}
	w.doRefresh(parallel, false)
}

// Break gives up a tick that cannot be completed: the world is broken, with the value of a panic as
// the cause. It returns the *world.BrokenError. No system may be running.
func (t *Tick) Break(value any) error {
	w := (*World)(t)
	w.fail(newBroken(w, "the scheduler", value))
	return w.Err()
}

// Failures returns the panics of functions in the refresh, by shard, until the next one. If there
// were more, omitted is how many, and the error says so.
func (t *Tick) Failures() (all []*Panic, omitted int, err error) {
	w := (*World)(t)
	omitted, err = w.omitted()
	return w.failures(), omitted, err
}

// FailedHooks returns the panics of hooks in the refresh, by shard, in the order of the calls,
// until the next refresh.
func (t *Tick) FailedHooks() []*Panic { return (*World)(t).failedHooks() }

// DisableHook disables the hook of a panic, on one shard or on AllShards, when the refresh is over.
func (t *Tick) DisableHook(e *Panic, shard int) {
	if shard == AllShards {
		e.hook.off = true
		return
	}
	e.hook.Disable(shard)
}

// Trace makes the coming refreshes keep their spans, or no longer. The scheduler calls it when a tick
// begins.
func (t *Tick) Trace(on bool) { t.engine.Times.Traced = on }

// StepSpans returns the spans of the refresh, in order. They are good until the next one.
func (t *Tick) StepSpans() []extend.StepSpan { return t.engine.Times.Spans }

// Step returns the step of the refresh that runs.
func (t *Tick) Step() extend.RefreshStep { return t.engine.Times.At }

// FailedRecorder returns the panic of the Recorder in the refresh, or nil, until the next refresh.
func (t *Tick) FailedRecorder() *Panic { return t.recorderErr }
