package engine

import (
	"fmt"
	"reflect"

	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/refresh"
	"github.com/atoll-sim/atoll/internal/store"
)

// Scatter makes the next shard take new entities after each run of so few: a small world then has
// entities in all its shards. For tests, on an idle world.
func (w *World) Scatter(run int) { w.runLeast, w.run, w.begun.run = run, run, 0 }

// LeastRung makes the rung of each tick at least n, where ticks do not take too long. For tests, on
// an idle world.
func (w *World) LeastRung(n uint8) { w.rungLeast = n }

// Fill registers components that nothing uses, until the world has n of them. For tests, on an idle
// world.
func (w *World) Fill(n int) {
	type filler struct{}
	for i := len(w.components); i < n; i++ {
		w.components = append(w.components, componentInfo{name: fmt.Sprint("filler ", i), typ: reflect.TypeFor[filler]()})
		store.NewColumn(w.space, mem.TypeOf[filler]())
	}
}

// FramesAsked returns how many goroutines wait for a frame. Safe from any goroutine.
func (w *World) FramesAsked() int32 { return w.frames.asked.Load() }

// LockFrames keeps goroutines from taking, leaving and giving up frames until unlock is called.
func (w *World) LockFrames() (unlock func()) {
	w.frames.mu.Lock()
	return w.frames.mu.Unlock
}

// Endpoint returns the other side of the port.
func (p *Port) Endpoint() *refresh.Endpoint { return p.endpoint }

// Lenient lets the idle world be changed though its ticks are sealed: by a test that makes the same
// changes in a replay.
func (w *World) Lenient() { w.lenient = true }
