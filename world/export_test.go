package world

import (
	"fmt"
	"reflect"
	"runtime"
	"weak"

	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/refresh"
	"github.com/atoll-sim/atoll/internal/store"
)

// Enter makes somebody use a shard.
func (w *World) Enter(i int, who string) (leave func()) {
	w.shards[i].Enter(&store.Occupant{What: who})
	return w.shards[i].Leave
}

// LookedAt returns how many ports the last refresh looked at.
func (w *World) LookedAt() int { return w.engine.Senders() }

// filler is the type of the components that FillComponents registers.
type filler struct{}

// FillComponents registers components that nothing uses, until the world has n of
// them. Real types in such numbers take the compiler a minute.
func FillComponents(w *World, n int) {
	for i := len(w.components); i < n; i++ {
		w.components = append(w.components, componentInfo{name: fmt.Sprint("filler ", i), typ: reflect.TypeFor[filler]()})
		store.NewColumn(w.space, mem.TypeOf[filler]())
	}
}

// AwaitCaptures waits until so many goroutines wait for a frame.
func AwaitCaptures(w *World, n int32) {
	for w.frames.asked.Load() < n {
		runtime.Gosched()
	}
}

// QueueOf returns a weak pointer to a port's queue.
func QueueOf(p *Port) weak.Pointer[queue.Queue] { return weak.Make(p.endpoint.Queue.Load()) }

// CacheMax is how many handles a port has in hand.
const CacheMax = refresh.CacheMax

// Ports returns how many ports are open.
func (w *World) Ports() int {
	n, _ := w.engine.Ports.Count()
	return n
}

// Finish tells a Completion an outcome, as the refresh does.
func Finish(c *Completion, o Outcome) { (*finisher)(c).Finish(o) }

// LockFrames keeps goroutines from taking, leaving and giving up frames until unlock is called.
func (w *World) LockFrames() (unlock func()) {
	w.frames.mu.Lock()
	return w.frames.mu.Unlock
}

// FramesHeld returns how many frames take memory.
func (w *World) FramesHeld() int {
	w.frames.mu.Lock()
	defer w.frames.mu.Unlock()
	return len(w.frames.mu.held)
}
