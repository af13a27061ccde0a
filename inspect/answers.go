package inspect

import (
	"context"
	"errors"
	"math"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/internal/engine"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/world"
)

// This file has what simultaneous readers share: answers, and the frames that they are computed
// from.

const (
	computedMax = 8                // answers that are computed at a time
	computeMax  = 10 * time.Second // how long one may take
	answersMax  = 1024
	frameAge    = 250 * time.Millisecond // how long a frame is shared
)

var (
	errBusy = busy(http.StatusTooManyRequests, "too many queries and maps are computed at a time; ask again later")

	// errLastFrame is returned while only one more frame can be held: that is left to the program
	// and to saving.
	errLastFrame = busy(http.StatusServiceUnavailable,
		"the last frame of Options.FramesMax is left to the program; ask again when it holds fewer, or raise FramesMax, to 2 or more")
)

// answers are computed once for all who ask the same within a short time.
//
// Ownership: mu guards byKey.
type answers struct {
	*visitor
	busy  *semaphore.Weighted
	mu    sync.Mutex
	byKey map[string]*answer
}

// answer is an answer that is being computed, or was. Then ready is closed, and nothing writes it.
//
// Ownership: answers.mu guards change; the rest belongs to the goroutine that computes.
type answer struct {
	ready  chan struct{}
	at     time.Time // when it was first requested
	change uint64    // how many changes had been made when it was begun; notBegun before
	body   []byte
	err    error
}

const notBegun = math.MaxUint64

// newAnswers makes the answers of an Inspector, for New.
func newAnswers(v *visitor) *answers {
	return &answers{visitor: v, busy: semaphore.NewWeighted(computedMax), byKey: map[string]*answer{}}
}

// of returns the answer for key if it was computed within age, and after the last change. Otherwise
// it has it computed. HTTP requests call it, each on its goroutine, and wait. If the first reader
// goes away, the computation continues for the others. Errors are errBusy, the error of ctx, or
// that of compute; an error is shared like an answer.
func (a *answers) of(ctx context.Context, key string, age time.Duration, compute func(context.Context) ([]byte, error)) ([]byte, error) {
	now, change := time.Now(), a.changes.Load()
	a.mu.Lock()
	one := a.byKey[key]
	if one == nil || now.Sub(one.at) > age || one.change < change {
		if len(a.byKey) >= answersMax {
			a.forget()
		}
		one = &answer{ready: make(chan struct{}), at: now, change: notBegun}
		start := func() {
			a.compute(one, compute)
			time.AfterFunc(age, func() { a.drop(key, one) }) // it may be large
		}
		if len(a.byKey) >= answersMax || !a.work.start(start) {
			a.mu.Unlock()
			return nil, errBusy
		}
		a.byKey[key] = one
	}
	a.mu.Unlock()
	select {
	case <-one.ready:
		return one.body, one.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// drop drops an answer, unless there is a newer one. A timer calls it.
func (a *answers) drop(key string, one *answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byKey[key] == one {
		delete(a.byKey, key)
	}
}

// forget drops all answers that are ready. The lock is held.
func (a *answers) forget() {
	for key, one := range a.byKey {
		select {
		case <-one.ready:
			delete(a.byKey, key)
		default:
		}
	}
}

// compute computes an answer by f when it has a place among those that are computed at a time. It
// runs on a goroutine of its own, which owns the answer until it closes one.ready; it always does.
func (a *answers) compute(one *answer, f func(context.Context) ([]byte, error)) {
	defer close(one.ready)
	ctx, cancel := context.WithTimeout(a.ctx, computeMax)
	defer cancel()
	wait, stop := context.WithTimeoutCause(ctx, waitMax, errBusy)
	defer stop()
	if a.busy.Acquire(wait, 1) != nil {
		one.err = context.Cause(wait)
		return
	}
	defer a.busy.Release(1)
	a.mu.Lock()
	one.change = a.changes.Load()
	a.mu.Unlock()
	one.err = aside.Do("inspect: computing an answer", func() (err error) {
		one.body, err = f(ctx)
		return err
	})
}

// frame is a copy of some components of the world, for simultaneous readers.
//
// Ownership: frames.mu guards users, old and frozen once it is retired; nothing writes the rest.
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
	*visitor
	turn   *semaphore.Weighted // of one
	stats  world.Stats
	mu     sync.Mutex
	newest *frame
}

// newFrames makes the frames of an Inspector, for New.
func newFrames(v *visitor) *frames { return &frames{visitor: v, turn: semaphore.NewWeighted(1)} }

// get returns a frame with some components, which is not older than frameAge or than the last
// change. The goroutine that computes an answer calls it, and must release the frame. After an
// error there is none to release.
func (f *frames) get(ctx context.Context, need store.Set) (*frame, error) {
	change := f.changes.Load()
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

// capture makes a frame between two ticks. It is the caller's turn. After an error no frame is
// held.
func (f *frames) capture(ctx context.Context, need store.Set) (*frame, error) {
	one := &frame{has: need, users: 1, gone: make(chan struct{})}
	err := f.do(ctx, func(w *world.World) (err error) {
		if w.Stats(&f.stats); f.stats.Frames+1 >= w.Options().FramesMax {
			return errLastFrame
		}
		one.tick, one.change = w.Tick(), f.changes.Load()
		one.frozen, err = engine.Of(w).Freeze(&need)
		return err
	})
	switch {
	case errors.Is(err, world.ErrFrames):
		return nil, busy(http.StatusServiceUnavailable, err.Error())
	case err != nil:
		return nil, err
	}
	one.at = time.Now()
	f.mu.Lock()
	f.newest = one
	f.mu.Unlock()
	time.AfterFunc(frameAge, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.retire(one)
	})
	return one, nil
}

// release ends the use of a frame. Whoever got it calls it once.
func (f *frames) release(one *frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one.users--
	if one.old {
		f.retire(one)
	}
}

// retire stops sharing a frame, and releases it when its last user has. The lock is held.
func (f *frames) retire(one *frame) {
	if one == nil {
		return
	}
	one.old = true
	if one.users == 0 && one.frozen != nil {
		one.frozen.Release()
		one.frozen = nil
		close(one.gone)
		if f.newest == one {
			f.newest = nil
		}
	}
}
