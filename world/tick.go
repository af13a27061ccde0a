package world

// The turns of the world itself, in the check build.
const (
	idleTurn = "idle"
	tickTurn = "tick"
)

// Tick is a running tick of a world: the right to run systems on its shards. It is for
// schedulers, such as package scheduler.
//
// Ownership: the goroutine that began it coordinates; Context(i) is for the one worker that
// runs shard i, Global for the worker that runs a global system.
type Tick struct{ w *World }

// BeginTick takes the world for a tick. It panics if a tick is running already, or within a
// query loop. It panics with a *BrokenError if an extension panics.
func (w *World) BeginTick() Tick {
	w.enterPhase("World.BeginTick", phaseTick)
	w.space.Sync(w.columns) // the idle world may have taken components away since the refresh
	w.space.SetIdle(false)
	if w.misrouted {
		w.forward()
	}
	begun := false
	defer w.guard(&begun)
	w.extensions.begin()
	begun = true
	return Tick{w}
}

// Number returns the number of the tick, from 0.
func (t Tick) Number() uint64 { return t.w.tick.Load() }

// Context returns the Context that systems act through on a shard.
func (t Tick) Context(shard int) *Context { return t.w.contexts[shard] }

// Global returns the Context that global systems act through, one at a time.
func (t Tick) Global() *Context { return t.w.contexts[len(t.w.shards)] }

// End refreshes the world, running the steps with parallel, and makes it idle again. No system
// may be running. It panics as World.Refresh does if the world breaks.
func (t Tick) End(parallel Parallel) {
	if !t.w.phase.CompareAndSwap(phaseTick, phaseRefresh) {
		if t.w.phase.Load() == phaseOver {
			t.w.mustIdle("Tick.End")
		}
		panic("world: Tick.End of a tick that is over; begin each with World.BeginTick and end it once")
	}
	t.w.refresh.run(parallel)
	t.w.space.SetIdle(true)
	t.w.leavePhase()
}
