package world

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/slots"
)

// ErrFrames is returned when as many frames are held as FramesMax allows, or when one more would
// take more memory than FramesBytes.
var ErrFrames = errors.New("world: too many frames")

// framesIdle is the number of ticks without a frame after which the memory of frames is given back.
const framesIdle = 64

// frames has the frames of a world. It is not part of the World, which a frame must not keep in
// memory.
//
// Ownership: the coordinator, or the idle world, captures. mu guards what is nested with it, for
// any goroutine; indexing is held while an index is made, and is locked before mu. asked is the
// number of waiters, to be read without the lock.
type frames struct {
	asked    atomic.Int32
	max      int
	last     uint64 // the tick of the newest frame, plus 1; 0 if all memory is given back
	world    weak.Pointer[World]
	indexing sync.Mutex
	mu       struct {
		sync.Mutex
		over    error // the error of a closed world, or nil
		waiting []*waiter
		serving []*waiter // the waiters of the running refresh
		held    []*image
		spare   []*image
		indexed *image // the image with the newest index; its handles are kept
		lost    uint64 // the number of the newest lost image
	}
}

// waiter is a call of View.Capture.
type waiter struct {
	view *View
	done chan captured // holds one
}

// captured is the result for a waiter: an image, with a reference to it, or an error.
type captured struct {
	image *image
	err   error
}

func newFrames(w *World) *frames {
	return &frames{max: w.options.FramesMax, world: weak.Make(w)}
}

// wait waits for the next refresh.
func (f *frames) wait(ctx context.Context, v *View) (*Frame, error) {
	x := &waiter{v, make(chan captured, 1)}
	if err := f.enter(x); err != nil {
		return nil, err
	}
	select {
	case got := <-x.done:
		return got.frame(v)
	case <-ctx.Done():
	}
	f.mu.Lock()
	i := slices.Index(f.mu.waiting, x)
	if i >= 0 {
		f.mu.waiting = slices.Delete(f.mu.waiting, i, i+1)
		f.asked.Store(int32(len(f.mu.waiting)))
	}
	f.mu.Unlock()
	if i < 0 { // the refresh has taken the waiter: the frame comes
		if got := <-x.done; got.err == nil {
			f.release(got.image, false)
		}
	}
	return nil, ctx.Err()
}

// frame makes the Frame of a view.
func (got captured) frame(v *View) (*Frame, error) {
	if got.err != nil {
		return nil, got.err
	}
	f := &Frame{image: got.image, components: v.components, extensions: v.extensions}
	f.cleanup = runtime.AddCleanup(f, func(x *image) { x.of.release(x, true) }, got.image)
	return f, nil
}

// enter makes the next refresh serve a waiter, unless too many frames are held.
func (f *frames) enter(x *waiter) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.mayCapture(); err != nil {
		return err
	}
	f.mu.waiting = append(f.mu.waiting, x)
	f.asked.Store(int32(len(f.mu.waiting)))
	return nil
}

// mayCapture returns why there can be no frame. The lock is held.
func (f *frames) mayCapture() error {
	if f.mu.over != nil {
		return f.mu.over
	}
	if n := len(f.mu.held); n >= f.max {
		return fmt.Errorf("%w: %d are held, as many as Options.FramesMax allows; release one, or raise it", ErrFrames, n)
	}
	return nil
}

// close sends err to the waiters: no refresh comes any more.
func (f *frames) close(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.over = err
	for _, x := range slices.Concat(f.mu.waiting, f.mu.serving) {
		x.done <- captured{err: err}
	}
	f.mu.serving, f.mu.waiting, f.mu.spare, f.mu.indexed = nil, nil, nil, nil
	f.last = 0
	f.asked.Store(0)
}

// release gives up a reference. If the collector has found the Frame, its queries and accessors may
// still be in use: the image and its buffers are not used again.
func (f *frames) release(x *image, lost bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if lost {
		x.lost, f.mu.lost = true, max(f.mu.lost, x.frame.Number)
		for _, y := range x.copies {
			if y != nil {
				y.lost = true
			}
		}
	}
	if x.refs--; x.refs > 0 {
		return
	}
	f.mu.held = slices.DeleteFunc(f.mu.held, func(y *image) bool { return y == x })
	f.spare(x)
}

// spare keeps an image that no frame has, for later use or for its index. It removes from it what
// counts for FramesBytes, which may then be given back. The lock is held.
func (f *frames) spare(x *image) {
	if x.lost || f.mu.over != nil {
		return
	}
	clear(x.copies)
	if x == f.mu.indexed {
		x.frame.LeaveColumns()
		return
	}
	x.frame.Empty()
	x.index.Store(nil)
	x.w.space.Lookup = slots.Lookup{}
	f.mu.spare = append(f.mu.spare, x)
}

// unindex gives up the image with the newest index. Both locks are held.
func (f *frames) unindex() {
	x := f.mu.indexed
	f.mu.indexed = nil
	if x != nil && x.refs == 0 {
		f.spare(x)
	}
}

// forgetIndex is unindex when no frame is held. The lock is held. If a dropped frame is still
// making its index from that of the image, the image is left to the collector.
func (f *frames) forgetIndex() {
	if f.indexing.TryLock() {
		f.unindex()
		f.indexing.Unlock()
	}
	f.mu.indexed = nil
}

// now captures a frame of the idle world.
func (f *frames) now(v *View) (*Frame, error) {
	x := &waiter{v, make(chan captured, 1)}
	f.mu.Lock()
	err := f.mayCapture()
	f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	v.w.phase.Store(phaseRefresh) // for functions of CloneBy
	defer v.w.phase.Store(phaseIdle)
	v.w.engine.Extensions.Derive(drive.Alone)
	v.w.capture(concurrently, []*waiter{x})
	return (<-x.done).frame(v)
}

// refresh captures the frames that callers wait for, at the end of a refresh.
func (f *frames) refresh(w *World, parallel drive.Parallel) {
	if f.asked.Load() == 0 {
		if f.last > 0 && w.engine.Tick.Load() >= f.last+framesIdle {
			w.forgetFrames()
		}
		return
	}
	f.mu.Lock()
	waiting := f.mu.waiting
	f.mu.waiting, f.mu.serving = nil, waiting
	f.asked.Store(0)
	err := f.mayCapture()
	f.mu.Unlock()
	if len(waiting) == 0 { // the last one gave up after asked was read
		return
	}
	if err != nil { // Now has captured one in the meantime
		f.deliver(waiting, captured{err: err})
		return
	}
	w.capture(parallel, waiting)
}

// deliver sends a result to the waiters.
func (f *frames) deliver(waiting []*waiter, what captured) {
	f.mu.Lock()
	f.mu.serving = nil
	f.mu.Unlock()
	for _, y := range waiting {
		y.done <- what
	}
}
