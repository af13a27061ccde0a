package world

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/aside"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/refresh"
	"github.com/atoll-sim/atoll/internal/store"
	"github.com/atoll-sim/atoll/internal/store/copies"
)

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
	failed  atomic.Pointer[PanicError]

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

// capture makes a frame of everything that the waiters ask for.
func (w *World) capture(parallel drive.Parallel, waiting []*waiter) {
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
			err = e
		}
	} else {
		err = fmt.Errorf("%w: one more takes more than Options.FramesBytes, %d; release some, name fewer components in a view, or raise it", ErrFrames, w.options.FramesBytes)
	}
	c.end(w, x, waiting, err)
}

// planAll finds the memory for everything that must be copied, and returns its bytes. It returns
// false if all copies together would take more than FramesBytes.
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

// copyPart copies a part of the rows. It contains panics of CloneBy functions.
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
		c.failed.CompareAndSwap(nil, &PanicError{In: inClone, Name: c.names[component].name, Shard: AllShards, Value: v, Stack: a.Stack})
	}
}

// end gives the frame to those that wait for it, or the error.
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

// forgetFrames gives the memory of frames back, if no frame is held. Called by the coordinator at
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

// framesSize returns how many frames are held, and the memory of copies. The world is idle.
func (w *World) framesSize() (held int, bytes uint64) {
	w.frames.mu.Lock()
	defer w.frames.mu.Unlock()
	if w.capturing != nil {
		bytes = w.capturing.bytes()
	}
	return len(w.frames.mu.held), bytes
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
