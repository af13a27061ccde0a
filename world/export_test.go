package world

import (
	"runtime"
	"weak"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/refresh"
	"github.com/atoll-sim/atoll/internal/store"
)

// Enter makes somebody use a shard.
func (w *World) Enter(i int, who string) (leave func()) {
	s := (*engine.World)(w).Shard(i)
	s.Enter(&store.Occupant{What: who})
	return s.Leave
}

// LookedAt returns how many ports the last refresh looked at.
func (w *World) LookedAt() int { return (*engine.World)(w).Refreshes().Senders() }

// FillComponents registers components that nothing uses, until the world has n of
// them. Real types in such numbers take the compiler a minute.
func FillComponents(w *World, n int) { (*engine.World)(w).Fill(n) }

// AwaitCaptures waits until so many goroutines wait for a frame.
func AwaitCaptures(w *World, n int32) {
	for (*engine.World)(w).FramesAsked() < n {
		runtime.Gosched()
	}
}

// QueueOf returns a weak pointer to a port's queue.
func QueueOf(p *Port) weak.Pointer[queue.Queue] {
	return weak.Make((*engine.Port)(p).Endpoint().Queue.Load())
}

// CacheMax is how many handles a port has in hand.
const CacheMax = refresh.CacheMax

// Ports returns how many ports are open.
func (w *World) Ports() int {
	n, _ := (*engine.World)(w).Refreshes().Ports.Count()
	return n
}

// Finish tells a Completion an outcome, as the refresh does.
func Finish(c *Completion, o Outcome) { (*engine.Completion)(c).Finish(engine.Outcome(o)) }

// LockFrames keeps goroutines from taking, leaving and giving up frames until unlock is called.
func (w *World) LockFrames() (unlock func()) { return (*engine.World)(w).LockFrames() }

// FramesHeld returns how many frames take memory.
func (w *World) FramesHeld() int {
	n, _ := (*engine.World)(w).FramesSize()
	return n
}

// WhenRead makes refreshes call f when they have read a queue.
func (w *World) WhenRead(f func(source int)) { (*engine.World)(w).Refreshes().Meanwhile.Read = f }

// WhenCut makes refreshes call f when the epoch is over, before they look which ports have sent.
func (w *World) WhenCut(f func()) { (*engine.World)(w).Refreshes().Meanwhile.Cut = f }

// DelayEpoch takes the epoch back by one, so that what was sent is after the cut of the next refresh:
// as if it had been sent right after the refresh raised it, and before it looked which ports have sent.
func (w *World) DelayEpoch() {
	e := (*engine.World)(w).Refreshes()
	e.Epoch.Store(e.Epoch.Load() - 1)
}
