package world

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/store"
)

// ErrFrames is returned when as many frames are held as FramesMax allows, or when one more would
// take more memory than FramesBytes.
var ErrFrames = errors.New("world: too many frames")

// framesIdle is after how many ticks without a frame the memory of frames is given back.
const framesIdle = 64

// frames are the frames of a world. It is not part of the World, which a frame must not keep.
//
// Ownership: the coordinator, or the idle world, captures. mu guards what is nested with it, for
// any goroutine; indexing is held while an index is made, before mu. asked is the number of
// waiting ones, for a look without the lock.
type frames struct {
	asked    atomic.Int32
	max      int
	last     uint64        // the tick of the newest frame, plus 1; 0 if all memory is given back
	copies   *store.Frames // made when first needed
	names    []componentInfo
	walk     func(int) // steps of the capture, bound once
	copy     func(int)
	frame    *store.Frame // that is captured
	union    store.Set    // of the components that it is to have
	cloning  bool         // some of them have a CloneBy
	failed   atomic.Pointer[PanicError]
	world    weak.Pointer[World]
	indexing sync.Mutex
	mu       struct {
		sync.Mutex
		over    error // of a world that is closed
		waiting []*waiter
		serving []*waiter // by the refresh that runs
		held    []*image
		spare   []*image
		indexed *image // whose index is the newest; its handles are kept
	}
}

// waiter is a call of View.Capture.
type waiter struct {
	view *View
	done chan captured // holds one
}

// captured is what it gets: an image, of which it has a reference, or an error.
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
	if i < 0 { // the frame comes, or is there
		if got := <-x.done; got.err == nil {
			f.release(got.image)
		}
	}
	return nil, ctx.Err()
}

// frame makes the Frame of a view.
func (got captured) frame(v *View) (*Frame, error) {
	if got.err != nil {
		return nil, got.err
	}
	f := &Frame{image: got.image, components: v.components}
	f.cleanup = runtime.AddCleanup(f, func(x *image) { x.of.release(x) }, got.image)
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

// close tells those that wait that there is no refresh to come.
func (f *frames) close(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.over = err
	for _, x := range slices.Concat(f.mu.waiting, f.mu.serving) {
		x.done <- captured{err: err}
	}
	f.mu.serving, f.mu.waiting, f.mu.spare, f.mu.indexed = nil, nil, nil, nil
	f.asked.Store(0)
}

// release gives up a reference.
func (f *frames) release(x *image) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if x.refs--; x.refs > 0 {
		return
	}
	f.mu.held = slices.DeleteFunc(f.mu.held, func(y *image) bool { return y == x })
	if x != f.mu.indexed {
		f.spare(x)
	}
}

// spare keeps an image that nobody has, to be used again. The lock is held.
func (f *frames) spare(x *image) {
	if f.mu.over == nil {
		f.mu.spare = append(f.mu.spare, x)
	}
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
	f.capture(v.w, concurrently, []*waiter{x})
	return (<-x.done).frame(v)
}

// refresh captures what is waited for, at the end of a refresh.
func (f *frames) refresh(w *World, parallel drive.Parallel) {
	if f.asked.Load() == 0 {
		if f.last > 0 && w.tick.Load() >= f.last+framesIdle {
			f.forget()
		}
		return
	}
	f.mu.Lock()
	waiting := f.mu.waiting
	f.mu.waiting, f.mu.serving = nil, waiting
	f.asked.Store(0)
	err := f.mayCapture()
	f.mu.Unlock()
	if err != nil { // Now has captured one meanwhile
		f.tell(waiting, captured{err: err})
		return
	}
	f.capture(w, parallel, waiting)
}

// forget gives the memory of frames back, if none is held.
func (f *frames) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.mu.held) == 0 {
		f.mu.spare, f.mu.indexed = nil, nil
		f.copies.Forget()
		f.last = 0
	}
}

// concurrently is the drive.Parallel of the idle world.
func concurrently(n int, f func(int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	all.Wait()
}

// size returns how many frames are held, and the memory of rows. The world is idle.
func (f *frames) size() (held int, bytes uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.copies != nil {
		bytes = f.copies.Bytes
	}
	return len(f.mu.held), bytes
}

// capture makes a frame of all that the waiting ones ask for.
func (f *frames) capture(w *World, parallel drive.Parallel, waiting []*waiter) {
	if f.copies == nil {
		f.copies = store.NewFrames(w.space, w.shards, uint64(w.options.FramesBytes))
		f.walk = func(i int) { f.copies.Walk(f.frame, i, &f.union) }
		f.copy = f.copyPart
	}
	x := f.begin(w)
	f.union, f.cloning = store.Set{}, false
	for _, y := range waiting {
		f.union = f.union.Union(y.view.components)
	}
	for id := range f.union.All {
		f.cloning = f.cloning || w.components[id].cloned
	}
	if w.refresh.sum((*store.Shard).Alive) < walkAlone {
		serial(len(w.shards), f.walk)
	} else {
		parallel(len(w.shards), f.walk)
	}
	parts, bytes, ok := f.copies.Plan(x.frame)
	var err error
	if ok {
		f.failed.Store(nil)
		if bytes < copyAlone {
			serial(parts, f.copy)
		} else {
			parallel(parts, f.copy)
		}
		if e := f.failed.Load(); e != nil {
			err = e
		}
	} else {
		err = fmt.Errorf("%w: one more takes more than Options.FramesBytes, %d; release some, name fewer components in a view, or raise it", ErrFrames, w.options.FramesBytes)
	}
	f.end(x, waiting, err)
}

// The coordinator looks at the chunks of so many entities, and copies so many bytes, by itself:
// waking a worker costs more.
const (
	walkAlone = 1 << 14
	copyAlone = 64 << 10
)

// begin finds or makes the image of a frame.
func (f *frames) begin(w *World) *image {
	var x *image
	var numbers [framesMax]uint64
	held, indexed := numbers[:0], uint64(0)
	f.mu.Lock()
	for _, y := range f.mu.held {
		held = append(held, y.frame.Number)
	}
	if f.mu.indexed != nil {
		indexed = f.mu.indexed.frame.Number
	}
	if n := len(f.mu.spare); n > 0 {
		x, f.mu.spare = f.mu.spare[n-1], f.mu.spare[:n-1]
	}
	f.mu.Unlock()
	var old *store.Frame
	if x != nil {
		old = x.frame
	} else {
		x = &image{of: f, origin: f.world}
	}
	x.frame = f.copies.Begin(old, held, indexed)
	f.frame = x.frame
	if len(f.names) != len(w.components) {
		f.names = slices.Clone(w.components)
	}
	if x.w == nil {
		x.w = &World{options: w.options, space: x.frame.Space, shards: x.frame.Shards}
		x.w.phase.Store(phaseFrame)
	}
	if len(x.w.components) != len(f.names) {
		x.w.components, x.w.componentID = f.names, maps.Clone(w.componentID)
	}
	x.w.tick.set(w.tick.Load())
	x.index.Store(nil)
	return x
}

// copyPart copies a part of the rows. It contains what functions of CloneBy do.
func (f *frames) copyPart(i int) {
	component := 0
	if !f.cloning {
		f.copies.Copy(i, &component)
		return
	}
	var a aside
	a.init(func() { f.copies.Copy(i, &component) })
	if !a.call() {
		v := a.value
		if v == nil {
			v = errGoexit
		}
		f.failed.CompareAndSwap(nil, &PanicError{In: inClone, Name: f.names[component].name, Shard: AllShards, Value: v, Stack: a.stack})
	}
}

// end gives the frame to those that wait for it, or the error.
func (f *frames) end(x *image, waiting []*waiter, err error) {
	f.last = x.w.tick.Load() + 1
	if err != nil {
		f.copies.Drop(x.frame)
		if e, ok := err.(*PanicError); ok {
			e.Tick = x.w.tick.Load()
		}
	}
	f.mu.Lock()
	if err != nil {
		f.spare(x)
	} else {
		x.refs = len(waiting)
		f.mu.held = append(f.mu.held, x)
	}
	f.mu.Unlock()
	f.frame = nil
	f.tell(waiting, captured{x, err})
}

// tell ends the waiting.
func (f *frames) tell(waiting []*waiter, what captured) {
	f.mu.Lock()
	f.mu.serving = nil
	f.mu.Unlock()
	for _, y := range waiting {
		y.done <- what
	}
}
