package inspect

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/world"
)

// frameAge is how long a frame is shared.
const frameAge = 250 * time.Millisecond

// frame is a copy of some components of the world, for simultaneous readers.
//
// Ownership: frames.mu guards users, old and unused; nothing writes the rest.
type frame struct {
	frozen *engine.Frozen
	has    store.Set
	tick   uint64
	change uint64 // how many changes had been made
	at     time.Time
	users  int
	old    bool          // no further reader gets it
	gone   chan struct{} // closed when it is released
}

// frames makes and shares frames, one at a time.
//
// Ownership: turn belongs to the goroutine that captures, and guards stats. mu guards newest.
type frames struct {
	x      *Inspector
	turn   *semaphore.Weighted // of one
	stats  world.Stats
	mu     sync.Mutex
	newest *frame
}

func (f *frames) init(x *Inspector) { f.x, f.turn = x, semaphore.NewWeighted(1) }

// get returns a frame with some components, which is not older than frameAge or than the last
// change. Release it.
func (f *frames) get(ctx context.Context, need store.Set) (*frame, error) {
	change := f.x.changes.Load()
	if err := f.turn.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer f.turn.Release(1)
	f.mu.Lock()
	was := f.newest
	if was != nil && !was.old && was.has.Contains(&need) && time.Since(was.at) <= frameAge && was.change >= change {
		was.users++
		f.mu.Unlock()
		return was, nil
	}
	f.retire(was)
	f.mu.Unlock()
	if was != nil {
		select {
		case <-was.gone:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return f.capture(ctx, need)
}

// errLastFrame is returned while only one more frame can be held: that is left to the program and
// to saving.
var errLastFrame = busy(http.StatusServiceUnavailable,
	"the last frame of Options.FramesMax is left to the program; ask again when it holds fewer, or raise FramesMax, to 2 or more")

// capture makes a frame between two ticks.
func (f *frames) capture(ctx context.Context, need store.Set) (*frame, error) {
	x := &frame{has: need, users: 1, gone: make(chan struct{})}
	var err error
	failed := f.x.asks.do(ctx, func(w *world.World) {
		if w.Stats(&f.stats); f.stats.Frames+1 >= w.Options().FramesMax {
			err = errLastFrame
			return
		}
		x.tick, x.change = w.Tick(), f.x.changes.Load()
		x.frozen, err = engine.Of(w).Freeze(&need)
	})
	switch {
	case failed != nil:
		return nil, failed
	case errors.Is(err, world.ErrFrames):
		return nil, busy(http.StatusServiceUnavailable, err.Error())
	case err != nil:
		return nil, err
	}
	x.at = time.Now()
	f.mu.Lock()
	f.newest = x
	f.mu.Unlock()
	time.AfterFunc(frameAge, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.retire(x)
	})
	return x, nil
}

// release ends the use of a frame.
func (f *frames) release(x *frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	x.users--
	if x.old {
		f.retire(x)
	}
}

// retire stops sharing a frame, and releases it when its last user has. The lock is held.
func (f *frames) retire(x *frame) {
	if x == nil {
		return
	}
	x.old = true
	if x.users == 0 && x.frozen != nil {
		x.frozen.Release()
		x.frozen = nil
		close(x.gone)
		if f.newest == x {
			f.newest = nil
		}
	}
}
