package engine

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/refresh"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/internal/store/copies"
)

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

// newFrames makes the frames of a new world: none.
func newFrames(w *World) *frames {
	return &frames{max: w.options.FramesMax, world: weak.Make(w)}
}

// wait waits for the next refresh to capture what the view has, on the goroutine of View.Capture.
// After an error nothing is held: if the refresh has taken the waiter by then, it waits for the
// frame and releases it.
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

// frame makes the Frame of a view, which the collector releases if it is dropped; or it returns the
// error of the capture.
func (c captured) frame(v *View) (*Frame, error) {
	if c.err != nil {
		return nil, c.err
	}
	f := &Frame{image: c.image, components: v.components, extensions: v.extensions}
	f.cleanup = runtime.AddCleanup(f, func(x *image) { x.of.release(x, true) }, c.image)
	return f, nil
}

// enter makes the next refresh serve a waiter, unless too many frames are held: then it returns
// ErrFrames. Any goroutine may call it.
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

// close sends err to the waiters: no refresh comes any more. The goroutine that closes or breaks
// the world calls it, or the collector's when it finds the world.
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

// release gives up a reference, on any goroutine. If the collector has found the Frame, its queries
// and accessors may still be in use: the image and its buffers are not used again.
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
// making its index from the index of the image, the image is left to the collector.
func (f *frames) forgetIndex() {
	if f.indexing.TryLock() {
		f.unindex()
		f.indexing.Unlock()
	}
	f.mu.indexed = nil
}

// now captures a frame of the idle world, on the world's goroutine and, if it is large, on others.
// Meanwhile the world is not idle, so functions of CloneBy must leave it alone.
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
	v.w.engine.Extensions.Derive(extend.Alone)
	v.w.capture(concurrently, []*waiter{x})
	return (<-x.done).frame(v)
}

// refresh captures the frames that callers wait for, by the coordinator in the step capture.
// Waiters get an error if that fails: the refresh goes on. After many refreshes without a waiter it
// gives the memory back.
func (f *frames) refresh(w *World, parallel extend.Parallel) {
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

// deliver sends a result to the waiters, none of which it waits for.
func (f *frames) deliver(waiting []*waiter, what captured) {
	f.mu.Lock()
	f.mu.serving = nil
	f.mu.Unlock()
	for _, y := range waiting {
		y.done <- what
	}
}

// capturing makes the frames of a World. Frames do not have this part of the World.
//
// Ownership: the coordinator, or the idle world. Steps that run in parallel read it.
type capturing struct {
	f       *frames
	copies  *copies.Frames
	names   []componentInfo // all components of the world at the newest frame
	walk    func(int)       // steps of the capture, bound once
	copy    func(int)
	frame   *store.Frame // being captured
	union   store.Set    // the components that the frame is to have
	cloning bool         // some of them have a CloneBy
	rows    int          // in how many parts the copying of rows is divided
	failed  atomic.Pointer[Panic]

	number     uint64         // of the newest capture
	framed     []framed       // by number of the extension
	extensions []bool         // of framed: the frame will have it
	jobs       []extensionJob // the parts of them that must be copied
}

// The coordinator looks at the chunks of up to so many entities, and copies up to so many bytes, by
// itself: waking a worker costs more.
const (
	walkAlone = 1 << 14
	copyAlone = 64 << 10
)

// newCapturing makes what captures frames of a world, with its steps bound, for the first capture
// and after forgetFrames.
func newCapturing(w *World) *capturing {
	c := &capturing{f: w.frames, copies: copies.New(w.space, w.shards, uint64(w.options.FramesBytes))}
	c.walk = func(i int) { c.copies.Walk(c.frame, i, &c.union) }
	c.copy = func(i int) {
		if i < c.rows {
			c.copyPart(i)
		} else {
			c.jobs[i-c.rows].Part(c.jobs[i-c.rows].part)
		}
	}
	return c
}

// capture makes one frame of everything that the waiters ask for, and gives it to them, or an
// error. The coordinator calls it in the step capture, or the idle world.
func (w *World) capture(parallel extend.Parallel, waiting []*waiter) {
	if w.capturing == nil {
		w.capturing = newCapturing(w)
	}
	c := w.capturing
	c.union, c.cloning = store.Set{}, false
	c.extensions = append(c.extensions[:0], make([]bool, len(w.framed))...)
	for _, y := range waiting {
		c.union = c.union.Union(y.view.components)
		for _, i := range y.view.extensions {
			c.extensions[i] = true
		}
	}
	for id := range c.union.All {
		c.cloning = c.cloning || w.space.Cloned(id)
	}
	x, alone := c.begin(w)
	if w.entities() < walkAlone {
		refresh.Serial(len(w.shards), c.walk)
	} else {
		parallel(len(w.shards), c.walk)
	}
	bytes, ok := c.planAll(w, x)
	if !ok && alone { // the copies of other frames may take too much
		c.f.mu.Lock()
		c.f.forgetIndex()
		c.f.mu.Unlock()
		c.copies.Drop(x.frame)
		c.copies.Forget()
		c.forgetCopies()
		refresh.Serial(len(w.shards), c.walk)
		bytes, ok = c.planAll(w, x)
	}
	var err error
	if ok {
		c.failed.Store(nil)
		if parts := c.rows + len(c.jobs); bytes < copyAlone {
			refresh.Serial(parts, c.copy)
		} else {
			parallel(parts, c.copy)
		}
		if e := c.failed.Load(); e != nil {
			e.Tick = w.engine.Tick.Load()
			err = newPanic(e).Err
		}
	} else {
		err = fmt.Errorf("%w: one more takes more than Options.FramesBytes, %d; release some, name fewer components in a view, or raise it", ErrFrames, w.options.FramesBytes)
	}
	c.end(w, x, waiting, err)
}

// planAll finds the memory for everything that must be copied, and returns its bytes. It returns
// false if all copies together would take more than FramesBytes: then the capture fails.
func (c *capturing) planAll(w *World, x *image) (bytes int, ok bool) {
	most, taken := uint64(w.options.FramesBytes), c.extensionBytes()
	c.copies.BytesMax = most - min(most, taken)
	c.rows, bytes, ok = c.copies.Plan()
	if !ok {
		return 0, false
	}
	c.copies.BytesMax = most
	more, ok := c.plan(x)
	return bytes + more, ok
}

// begin finds or makes the image of a frame. It reports whether no other was held; a goroutine may
// have released the last one since. The lock keeps those that release frames from the copies
// meanwhile.
func (c *capturing) begin(w *World) (x *image, alone bool) {
	f := c.f
	var numbers [framesMax]uint64
	held, indexed, lost := numbers[:0], uint64(0), uint64(0)
	f.mu.Lock()
	for _, y := range f.mu.held {
		held = append(held, y.frame.Number)
	}
	if f.mu.indexed != nil {
		indexed = f.mu.indexed.frame.Number
	}
	lost = f.mu.lost
	c.survey(w)
	if n := len(f.mu.spare); n > 0 {
		x, f.mu.spare = f.mu.spare[n-1], f.mu.spare[:n-1]
	}
	f.mu.Unlock()
	var old *store.Frame
	if x != nil {
		old = x.frame
	} else {
		x = &image{of: f}
	}
	x.frame = c.copies.Begin(old, &c.union, w.engine.Tick.Load(), held, indexed, lost)
	c.frame = x.frame
	if len(c.names) != len(w.components) {
		c.names = slices.Clone(w.components)
	}
	if x.w == nil {
		x.w = &World{options: w.options, space: x.frame.Space, shards: x.frame.Shards}
		x.w.phase.Store(phaseFrame)
	}
	if len(x.w.components) != len(c.names) {
		x.w.components, x.w.componentID = c.names, maps.Clone(w.componentID)
	}
	x.w.engine.Tick.Set(w.engine.Tick.Load())
	return x, len(held) == 0
}

// copyPart copies a part of the rows, on any worker of the step capture. It contains panics of
// CloneBy functions, and keeps the first of them for capture.
func (c *capturing) copyPart(i int) {
	component := 0
	if !c.cloning {
		c.copies.Copy(i, &component)
		return
	}
	var a aside.Caller
	a.Bind(func() { c.copies.Copy(i, &component) })
	if !a.Call() {
		v := a.Value
		if v == nil {
			v = aside.ErrGoexit
		}
		c.failed.CompareAndSwap(nil, &Panic{In: InClone, Name: c.names[component].name, Shard: AllShards, Value: v, Stack: a.Stack})
	}
}

// end gives the frame to those that wait for it, or the error. After an error it drops what was
// copied, so that the next capture copies it again.
func (c *capturing) end(w *World, x *image, waiting []*waiter, err error) {
	f := c.f
	f.last = w.engine.Tick.Load() + 1
	clear(c.jobs)
	if err != nil {
		c.copies.Drop(x.frame)
		c.dropCopies()
	} else {
		c.copies.End()
	}
	f.mu.Lock()
	if err != nil {
		f.spare(x)
	} else {
		x.refs = len(waiting)
		f.mu.held = append(f.mu.held, x)
	}
	f.mu.Unlock()
	c.frame = nil
	f.deliver(waiting, captured{x, err})
}

// forgetFrames gives the memory of frames back, if no frame is held. The coordinator calls it at
// the end of a refresh, when a frame was captured before and none was asked for in a long time.
func (w *World) forgetFrames() {
	f := w.frames
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.mu.held) == 0 {
		f.forgetIndex()
		f.mu.spare, f.mu.lost = nil, 0 // numbers begin again
		w.capturing.copies.Forget()
		w.capturing.forgetCopies()
		w.capturing = nil
		f.last = 0
	}
}

// FramesSize returns how many frames are held, and the memory of copies. The world must be idle.
func (w *World) FramesSize() (held int, bytes uint64) {
	w.frames.mu.Lock()
	defer w.frames.mu.Unlock()
	if w.capturing != nil {
		bytes = w.capturing.bytes()
	}
	return len(w.frames.mu.held), bytes
}

// concurrently is the extend.Parallel of the idle world, which has no workers: it starts goroutines
// and waits for them.
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

// extensionView is an extension as a Viewable.
type extensionView struct {
	w      *World
	number int
	name   string
}

// view returns the Viewable of an extension that is being added to the idle world, and keeps its
// Framed, if frames can have it.
func (w *World) view(x extend.Base) *extensionView {
	v := &extensionView{w, len(w.framed), x.Name()}
	if of, ok := x.(extend.Framed); ok {
		w.framed = append(w.framed, of)
	}
	return v
}

// enter implements Viewable: it adds the extension to a view. It panics about a view of another
// world.
func (e *extensionView) enter(v *View) {
	if e.w != v.w {
		panic(fmt.Sprintf("world: World.NewView: %q belongs to another world; use that world's own", e.name))
	}
	v.extensions = append(v.extensions, e.number)
}

// framed implements Viewable: it returns whose extension it is, and its place in World.framed.
func (e *extensionView) framed() (*World, int) { return e.w, e.number }

// copyOf returns the frame's copy of an extension. It panics if the frame's view does not have
// that.
func (f *Frame) copyOf(x *extensionView, call string) extend.Copy {
	if !slices.Contains(f.extensions, x.number) {
		panic(fmt.Sprintf("world: %s: %q is not in the view that the frame is of; name it in World.NewView", call, x.name))
	}
	return f.image.copies[x.number].Copy
}

// extensionCopy is a copy of an extension for frames.
//
// Ownership: as for capturing; lost as for frames.mu.
type extensionCopy struct {
	extend.Copy
	made uint64 // the capture that copied into it
	used uint64 // the newest capture whose frame has it and is held, or at which one was
	lost bool   // it may be read although no frame is known to have it: it is not written again
}

// framed has the copies of an extension for frames. While the extension does not change, frames
// share one.
type framed struct {
	of     extend.Framed
	copies []*extensionCopy
	newest *extensionCopy // nil if it must be copied anew
}

// copyUnused is the number of captures after which a copy that no frame had is given back.
const copyUnused = 64

// extensionJob is a part of the copying of an extension.
type extensionJob struct {
	extend.Copy
	part int
}

// survey notes which copies of extensions the held frames have, and drops those that were long
// unused. frames.mu is held.
func (c *capturing) survey(w *World) {
	for _, of := range w.framed[len(c.framed):] {
		c.framed = append(c.framed, framed{of: of})
	}
	c.number++
	for _, x := range c.f.mu.held {
		for _, y := range x.copies {
			if y != nil {
				y.used = c.number
			}
		}
	}
	for i := range c.framed {
		e := &c.framed[i]
		e.drop(func(x *extensionCopy) bool {
			return x.used < c.number && (x.lost || c.number-x.used > copyUnused)
		})
	}
}

// drop leaves the copies that which chooses to the collector.
func (f *framed) drop(which func(*extensionCopy) bool) {
	if f.newest != nil && which(f.newest) {
		f.newest = nil
	}
	f.copies = slices.DeleteFunc(f.copies, which)
}

// plan finds what a frame has of the extensions, and what of that must be copied. It returns the
// bytes, or false if the copies would take too much memory; then end drops what it has begun.
func (c *capturing) plan(x *image) (bytes int, ok bool) {
	c.jobs = c.jobs[:0]
	clear(x.copies)
	x.copies = append(x.copies[:0], make([]*extensionCopy, len(c.framed))...)
	for i := range c.framed {
		e := &c.framed[i]
		if !c.extensions[i] {
			continue
		}
		if e.newest == nil || e.of.Changed() {
			n, ok := c.planOne(e)
			if !ok {
				return 0, false
			}
			bytes += n
		}
		e.newest.used = c.number
		x.copies[i] = e.newest
	}
	return bytes, true
}

// planOne finds the memory for a copy of an extension. It takes the memory of the copy that no
// frame has and that is closest to the present state. It returns false, and takes none, if that
// would be too much.
func (c *capturing) planOne(e *framed) (bytes int, ok bool) {
	var x *extensionCopy
	for _, y := range e.copies {
		if y.used < c.number && (x == nil || y.made > x.made) {
			x = y
		}
	}
	var had uint64
	if x != nil {
		had = x.Bytes()
	}
	if c.bytes()-had+max(had, e.of.CopySize()) > uint64(c.copies.BytesMax) {
		return 0, false
	}
	if x == nil {
		x = new(extensionCopy)
		e.copies = append(e.copies, x)
	}
	var parts int
	x.Copy, parts, bytes = e.of.Copy(x.Copy)
	for i := range parts {
		c.jobs = append(c.jobs, extensionJob{x.Copy, i})
	}
	x.made, e.newest = c.number, x
	return bytes, true
}

// bytes returns the memory of all copies, of rows and extensions.
func (c *capturing) bytes() uint64 { return c.copies.Bytes + c.extensionBytes() }

// extensionBytes returns the memory of the copies of extensions.
func (c *capturing) extensionBytes() (bytes uint64) {
	for _, e := range c.framed {
		for _, x := range e.copies {
			bytes += x.Bytes()
		}
	}
	return bytes
}

// dropCopies gives up the copies of extensions that this capture has made, because it failed.
func (c *capturing) dropCopies() {
	for i := range c.framed {
		c.framed[i].drop(func(x *extensionCopy) bool { return x.made == c.number })
	}
}

// forgetCopies gives all copies of extensions back. No frame may have one.
func (c *capturing) forgetCopies() {
	for i := range c.framed {
		e := &c.framed[i]
		e.copies, e.newest = nil, nil
		e.of.Forget()
	}
}
