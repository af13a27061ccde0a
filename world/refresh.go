package world

import (
	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/refresh"
)

// Refresh ends a tick, or settles the idle world: requests are applied, marked entities are
// destroyed and their handles become stale, storage is compact again, and messages become
// readable. Its cost depends on what changed.
//
// It panics while a tick or another refresh runs, also when called by a function, hook or
// extension of that refresh. It panics within a query loop, because it would move the rows that
// the loop walks. It panics with a *BrokenError if an extension panics: the world is broken
// then.
func (w *World) Refresh() {
	w.lookForChanges()
	w.enterPhase("World.Refresh", phaseRefresh)
	w.engine.By(drive.ByRefresh)
	w.doRefresh(refresh.Serial, false)
	w.leavePhase()
}

// doRefresh does a refresh; with all, one that destroys all entities. If the refresh is not
// completed, the world is broken.
func (w *World) doRefresh(parallel drive.Parallel, all bool) {
	done := false
	defer w.guard(&done)
	w.recorderErr = nil
	if w.panicked.Load() {
		w.panicked.Store(false)
		for _, c := range w.contexts {
			c.failures, c.failedHooks, c.omitted = nil, nil, 0
		}
	}
	w.engine.Run(parallel, all)
	w.leave()
	for _, s := range w.shards { // loops of the idle world get higher numbers than those of systems and hooks
		w.loop = max(w.loop, s.Loop)
	}
	done = true
}

// refreshed is a world as a refresh.Owner.
type refreshed World

func (w *refreshed) GatherEvents() int { return w.hooks.due() }

func (w *refreshed) CallHooks(shard int) { w.hooks.callers[shard].call() }

func (w *refreshed) FramesDue() bool { return w.frames.asked.Load() > 0 || w.frames.last > 0 }

func (w *refreshed) Capture(parallel drive.Parallel) { w.frames.refresh((*World)(w), parallel) }

func (w *refreshed) RecorderPanicked(p *refresh.Panic) error {
	w.changed = nil
	w.recorderErr = &PanicError{In: inRecorder, Name: p.During, Shard: AllShards, Tick: w.engine.Tick.Load(), Value: p.Value, Stack: p.Stack}
	if p.Value == nil {
		w.recorderErr.Value = aside.ErrGoexit
	}
	return w.recorderErr
}

// outdate makes the check build refuse views of rows that are about to move.
func (w *World) outdate() {
	if check.Enabled {
		w.space.Outdate()
	}
}
