package engine

import (
	"fmt"
	"reflect"
	"runtime/debug"

	"github.com/atoll-sim/atoll/internal/aside"
)

// Moment says when a value was put: see world.Moment.
type Moment struct {
	Incarnation uint32
	Tick        uint64
	N           uint32
}

// Output is a *world.Output, which has the values. A box of its values belongs to each shard, the
// next to the global systems, and the last to the idle world and to transactions.
type Output interface {
	Name() string
	// Take moves the first n values of a box behind the values that wait for the handler.
	Take(box, n int)
	// Undo forgets the last n values of a box.
	Undo(box, n int)
	// HandleNext calls the handler with the first value that waits. It returns false, and only
	// forgets the value, if there is none.
	HandleNext(at Moment) bool
	// Drop forgets all values, and the handler.
	Drop()
}

// origin is what puts a value. The handlers are called in this order.
type origin uint8

const (
	byIdle origin = iota
	bySystem
	byFunction
	byTransaction
	byHook
	origins
)

// outputs is what was put into the outputs of a world.
//
// Ownership: a box of a shard, and the box of the global systems, belong to the goroutine that runs
// these; all else to the world's goroutine, in a refresh to the coordinator.
type outputs struct {
	w     *World
	all   []Output
	boxes []outputBox // by shard; then of the global systems; then of the idle world and transactions
	due   []dueRun    // what waits for the handlers, from next on
	next  int
	busy  bool // a handler runs
	tx    struct {
		open        bool // the transaction has put something
		runs, n     int  // the length of the last box before it, and of the last run in that
		bytes, size int
	}
	counts   OutputCounts
	failures []*Panic // of handlers, since the last refresh that no handler has made
	omitted  int      // how many more there were
}

// outputBox says in which order values were put, in runs of values of one output.
type outputBox struct {
	runs  []outputRun
	n     int // values
	bytes int // of them
	at    int // in gather: the next run
	_     [64]byte
}

type outputRun struct {
	output int32
	n      int32
	by     origin
}

type dueRun struct {
	output int32
	n      int32
	first  Moment
}

// OutputCounts counts values since the world was made.
type OutputCounts struct {
	Put     uint64 // and taken from the boxes by a refresh
	Handled uint64 // a handler was called
	Dropped uint64 // there was no handler
}

// AddOutput makes an output known to the idle world, and returns its number. If it panics, it is
// not.
func (w *World) AddOutput(t reflect.Type, name string, o Output) (number int) {
	const call = "world.RegisterOutput"
	mustBe(w, call)
	w.mustIdle(call)
	w.MustRegister("%s of %v as %q", call, t, name)
	if name == "" {
		panic(fmt.Sprintf("world: output %v needs a name; pass one that errors can use", t))
	}
	if w.outputs == nil {
		w.outputs = &outputs{w: w, boxes: make([]outputBox, len(w.shards)+2)}
	}
	for _, other := range w.outputs.all {
		if other.Name() == name {
			panic(fmt.Sprintf("world: output name %q is taken; pass another", name))
		}
	}
	mustMove(t, "output %q", name)
	w.outputs.all = append(w.outputs.all, o)
	return len(w.outputs.all) - 1
}

// OutputBoxes returns how many boxes an Output has.
func (w *World) OutputBoxes() int { return len(w.shards) + 2 }

// Put accepts a value of a size for an output, by any actor but a port, and returns the box that the
// caller puts it into. After an error nothing was accepted.
func (w *World) Put(by Self, output, size int) (box int, err error) {
	const call = "Output.Put"
	x := w.outputs
	global, last := len(w.shards), len(w.shards)+1
	from := bySystem
	switch by := by.(type) {
	case *Context:
		by.mustRun(call)
		if box = global; by.shard != nil {
			box = by.shard.ID()
		}
		if by.acting.Hook {
			from = byHook
		}
	case *EntityContext:
		by.mustRun(call)
		if box, from = by.Shard(), byFunction; w.phase.Load() == phaseIdle {
			box, from = last, byIdle
		}
	case *World:
		if err := by.ready(call); err != nil {
			return 0, err
		}
		box, from = last, byIdle
	case *Tx:
		if err := by.Write(call, x); err != nil {
			return 0, err
		}
		if box, from = last, byTransaction; by.idle {
			from = byIdle
		}
	default:
		turnDownBy(by)
		panic(notFor(by, call) + "; request a function or a transaction that does")
	}
	if err := x.room(box, size); err != nil {
		return 0, err
	}
	if t, ok := by.(*Tx); ok {
		if err := t.Charge(uintptr(size)); err != nil {
			return 0, err
		}
		x.begin()
	}
	x.boxes[box].put(output, size, from)
	return box, nil
}

// room returns ErrFull if a box has no room for one more value, or ErrTooLarge if none ever has.
func (x *outputs) room(box, size int) error {
	b, o := &x.boxes[box], &x.w.options
	switch {
	case size > o.OutboxBytes:
		return tooLarge(1, 0, uint64(size), "OutboxRequests", o.OutboxRequests, "OutboxBytes", o.OutboxBytes)
	case b.n >= o.OutboxRequests || b.bytes+size > o.OutboxBytes:
		return ErrFull
	}
	return nil
}

// put notes a value. What a shard puts by an origin that has had its turn comes with the last one.
func (b *outputBox) put(output, size int, from origin) {
	b.n, b.bytes = b.n+1, b.bytes+size
	if n := len(b.runs); n > 0 {
		last := &b.runs[n-1]
		if from = max(from, last.by); last.output == int32(output) && last.by == from {
			last.n++
			return
		}
	}
	b.runs = append(b.runs, outputRun{int32(output), 1, from})
}

// begin notes what the last box has, when the transaction that runs puts its first value.
func (x *outputs) begin() {
	if t, b := &x.tx, &x.boxes[len(x.boxes)-1]; !t.open {
		t.open, t.runs, t.n, t.bytes, t.size = true, len(b.runs), 0, b.bytes, b.n
		if t.runs > 0 {
			t.n = int(b.runs[t.runs-1].n)
		}
	}
}

// Commit implements Party: what the transaction has put stays.
func (x *outputs) Commit() { x.tx.open = false }

// Drop implements Party: it forgets what the transaction has put.
func (x *outputs) Drop() {
	t, last := &x.tx, len(x.boxes)-1
	if !t.open {
		return
	}
	b := &x.boxes[last]
	for i := t.runs; i < len(b.runs); i++ {
		x.all[b.runs[i].output].Undo(last, int(b.runs[i].n))
	}
	if b.runs = b.runs[:t.runs]; t.runs > 0 {
		r := &b.runs[t.runs-1]
		x.all[r.output].Undo(last, int(r.n)-t.n)
		r.n = int32(t.n)
	}
	b.bytes, b.n, t.open = t.bytes, t.size, false
}

// gather ends a refresh: what was put until now waits for the handlers. In a replay it is forgotten.
// The world's goroutine calls it, which has taken the world.
func (x *outputs) gather() {
	if !x.busy { // otherwise a handler refreshes the world, and its caller has yet to see them
		x.failures, x.omitted = nil, 0
	}
	sum := 0
	for i := range x.boxes {
		sum += x.boxes[i].n
	}
	if sum == 0 {
		return
	}
	x.counts.Put += uint64(sum)
	if x.w.engine.Replay != nil {
		for i := range x.boxes {
			b := &x.boxes[i]
			for _, r := range b.runs {
				x.all[r.output].Undo(i, int(r.n))
			}
			b.runs, b.n, b.bytes = b.runs[:0], 0, 0
		}
		return
	}
	at := Moment{Incarnation: x.w.Incarnation(), Tick: x.w.engine.Tick.Load() - 1}
	for from := range origins {
		for i := range x.boxes {
			b := &x.boxes[i]
			for ; b.at < len(b.runs) && b.runs[b.at].by == from; b.at++ {
				r := b.runs[b.at]
				x.all[r.output].Take(i, int(r.n))
				x.due = append(x.due, dueRun{r.output, r.n, at})
				at.N += uint32(r.n)
			}
		}
	}
	for i := range x.boxes {
		b := &x.boxes[i]
		b.runs, b.n, b.bytes, b.at = b.runs[:0], 0, 0, 0
	}
}

// Told reports whether Tell has something to do.
func (w *World) Told() bool { return w.outputs != nil && w.outputs.next < len(w.outputs.due) }

// Tell calls the handlers of outputs with what refreshes have gathered. The goroutine of the idle
// world calls it, after each refresh.
func (w *World) Tell() {
	if w.outputs != nil {
		w.outputs.handle()
	}
}

// handle is Tell. If a handler ends the goroutine, the rest comes after the next refresh. A
// refresh within a handler leaves what it gathers to the call that runs.
func (x *outputs) handle() {
	if x.next == len(x.due) || x.busy {
		return
	}
	x.busy = true
	defer func() { x.busy = false }()
	for x.next < len(x.due) {
		r := &x.due[x.next]
		at, o := r.first, x.all[r.output]
		r.first.N++
		if r.n--; r.n == 0 {
			if x.next++; x.next == len(x.due) {
				x.due, x.next = x.due[:0], 0
			}
		}
		x.one(o, at)
	}
	x.w.LookForChanges() // a replay does not call handlers
}

// one calls the handler with one value. It contains a panic and keeps it for Failure.
func (x *outputs) one(o Output, at Moment) {
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		if v == nil {
			v = aside.ErrGoexit // recover does not stop it
		}
		x.counts.Handled++
		if len(x.failures) == failuresMax {
			x.omitted++
			return
		}
		x.failures = append(x.failures, newPanic(&Panic{In: InOutput, Name: o.Name(), Shard: AllShards, Tick: at.Tick, Value: v, Stack: debug.Stack()}))
	}()
	if o.HandleNext(at) {
		x.counts.Handled++
	} else {
		x.counts.Dropped++
	}
	returned = true
}

// drop forgets everything, when the world is closed or broken.
func (x *outputs) drop() {
	for _, o := range x.all {
		o.Drop()
	}
	clear(x.boxes)
	x.due, x.next = nil, 0
}

// OutputCounts returns what became of values that were put. The world must be idle.
func (w *World) OutputCounts() OutputCounts {
	if w.outputs == nil {
		return OutputCounts{}
	}
	return w.outputs.counts
}

// FailedOutputs returns the panics of handlers since the last refresh. If there were more, omitted is
// how many, and the error says so.
func (w *World) FailedOutputs() (all []*Panic, omitted int, err error) {
	x := w.outputs
	if x == nil {
		return nil, 0, nil
	}
	if x.omitted > 0 {
		err = fmt.Errorf("world: %d more handlers of outputs panicked after tick %d; details are kept of %d", x.omitted, x.failures[0].Tick, len(x.failures))
	}
	return x.failures, x.omitted, err
}
