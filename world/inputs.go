package world

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/store"
)

// PartitionsMax is the largest number of partitions into which a refresh divides the requests
// that were sent.
const PartitionsMax = partitionsMax

// Recorder receives what a world is given from outside, refresh by refresh. It is for tools
// that record this, such as package inputlog. Its methods are called on goroutines of their
// own, which the refresh waits for; a method that panics does not break the world.
type Recorder interface {
	// Begin is called when a refresh begins.
	Begin()
	// Request is called with each request of a port before the request is applied. One
	// goroutine calls it for the requests of one partition, in order. The partitions in their
	// order hold the requests of all ports, by port number. r is good until Request returns.
	Request(share, port int, r store.PendingRequest)
	// End is called with the other inputs when the refresh is done except for notifying
	// outcomes. in is good until End returns.
	End(in *Inputs)
	// Failed is called after the refresh if one of the other methods panicked or ended its
	// goroutine. No method is called after that: a log would have a gap.
	Failed(err error)
}

// Inputs is what a refresh was given from outside, besides the requests of ports.
type Inputs struct {
	Tick     uint64
	Drawn    uint32          // how many indexes ports have drawn so far
	Recalled []handle.Handle // handles that a port gave out and took back
	Released []handle.Handle // by references, except those that are still pending
	Shifts   []Transfer      // decisions to balance the shards, which may depend on time
}

// RecorderError reports a Recorder that panicked. The refresh was completed, and the Recorder
// is not called any more.
type RecorderError struct {
	Method string // of the Recorder
	Tick   uint64
	Value  any    // what it panicked with
	Stack  []byte // where
}

// Error names the method, the tick and the panic's value.
func (e *RecorderError) Error() string {
	return fmt.Sprintf("world: the Recorder panicked in %s, at the end of tick %d: %v", e.Method, e.Tick, e.Value)
}

// Unwrap returns the panic's value if it was an error.
func (e *RecorderError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// RecorderError returns the error of a Recorder that panicked in the refresh, or nil. For
// schedulers, when the tick has ended.
func (t Tick) RecorderError() *RecorderError { return t.w.recorderErr }

// recording holds a world's Recorder. Its methods are called aside, so that a panic in them is
// contained.
//
// Ownership: the coordinator. Each part of partitions belongs to the worker that reads the
// partition; failed is stored by any of them, once.
type recording struct {
	Recorder
	Inputs
	w          *World
	begin      partitionRecorder
	partitions [partitionsMax]partitionRecorder
	end        partitionRecorder
	failed     atomic.Pointer[RecorderError]
}

// partitionRecorder calls one method.
type partitionRecorder struct {
	aside
	of        *recording
	method    string
	partition *partition // of Request
	cut       uint32
	seen      []uint32 // by producer, up to where its requests were recorded
}

func newRecording(w *World, l Recorder) *recording {
	x := &recording{Recorder: l, w: w}
	x.begin.init(x, "Begin", l.Begin)
	for i := range x.partitions {
		s := &x.partitions[i]
		s.init(x, "Request", s.look)
	}
	x.end.init(x, "End", func() { l.End(&x.Inputs) })
	return x
}

func (s *partitionRecorder) init(x *recording, method string, f func()) {
	s.of, s.method = x, method
	s.aside.init(f)
}

// call calls the method, unless the Recorder has panicked, and reports whether it returned.
func (s *partitionRecorder) call() bool {
	x := s.of
	if x.failed.Load() != nil {
		return false
	}
	if s.aside.call() {
		return true
	}
	e := &RecorderError{Method: s.method, Tick: x.w.tick.Load(), Value: s.value, Stack: s.stack}
	if e.Value == nil {
		e.Value = errGoexit
	}
	x.failed.CompareAndSwap(nil, e)
	return false
}

// record calls the Recorder with what ports have sent in the partition. It returns, by
// producer, how far it came before the Recorder panicked, if it did.
func (s *partitionRecorder) record(x *partition, cut uint32) (seen []uint32) {
	s.partition, s.cut, s.seen = x, cut, s.seen[:0]
	s.call()
	return s.seen
}

func (s *partitionRecorder) look() {
	for _, from := range s.partition.producers {
		if from.port == nil { // an outbox or a Replayer's queue: nothing is sent there during a refresh
			s.seen = append(s.seen, from.queue.Sent())
			continue
		}
		s.seen = append(s.seen, from.queue.Look(s.cut, func(r store.PendingRequest) {
			s.of.Request(s.partition.number, int(from.port.number), r)
		}))
	}
}

// RecordInputs sets the Recorder that receives the world's inputs, from the next refresh on;
// nil removes it. It returns an error if another Recorder is set. A world without a Recorder
// pays nothing for this. The world must be idle.
func (w *World) RecordInputs(l Recorder) error {
	w.mustIdle("World.RecordInputs")
	if l == nil {
		w.recording = nil
		w.portSlots.Note(false)
		return nil
	}
	if w.recording != nil {
		return errors.New("world: the world has a Recorder already; take it off by RecordInputs(nil) first")
	}
	w.recording = newRecording(w, l)
	w.portSlots.Note(true)
	return nil
}

// taken notes how many indexes were drawn until all requests were taken. That includes the
// handles of creates.
func (x *recording) taken() { x.Drawn = x.w.portSlots.Drawn() }

// finish calls End. If the Recorder has panicked, finish calls Failed and removes it.
func (x *recording) finish() {
	w := x.w
	x.Tick, x.Released = w.tick.Load(), w.refresh.releases.due
	x.Recalled = w.portSlots.TakeRecalls(x.Recalled[:0])
	x.end.call()
	x.Shifts = x.Shifts[:0]
	if w.recorderErr = x.failed.Load(); w.recorderErr != nil {
		w.recording = nil
		w.portSlots.Note(false)
		var last aside
		last.init(func() { x.Failed(w.recorderErr) })
		last.call()
	}
}

// ErrFed is returned when a port is opened while a Replayer takes the place of ports, or when a
// Replayer is asked for while ports are open.
var ErrFed = errors.New("world: ports and a Replayer at the same time")

// Replayer takes the place of a world's ports: it gives the world again what a Recorder
// received. A tick's refresh applies what the Replayer was given before that tick. It is for
// tools that replay inputs.
//
// Ownership: the world's goroutine, while the world is idle.
type Replayer struct {
	w         *World
	queue     *store.Queue
	transfers []Transfer             // of the next refresh
	used      map[handle.Handle]bool // by creates and recalls since the last Publish
}

// ReplayInputs begins to replay inputs. No port may be open. The world must be idle.
func (w *World) ReplayInputs() (*Replayer, error) {
	if err := w.ready("World.ReplayInputs"); err != nil {
		return nil, err
	}
	w.ports.mu.Lock()
	defer w.ports.mu.Unlock()
	if n := len(w.ports.mu.byNumber) - len(w.ports.mu.free); n > 0 || w.replayer != nil {
		return nil, fmt.Errorf("%w: %d ports are open; close them, and refresh the world", ErrFed, n)
	}
	w.replayer = &Replayer{w: w, queue: store.NewQueue(w.space, min(1<<31, math.MaxInt), min(1<<35, math.MaxInt)), used: map[handle.Handle]bool{}}
	w.ports.mu.fed = true
	return w.replayer, nil
}

// Close allows ports to be opened again. Handles that ports of the recorded world had in hand
// are stale afterwards: free slots go on with their next version, so the hash of the state
// differs from the one before.
func (f *Replayer) Close() {
	if f.ready("Replayer.Close") != nil {
		return
	}
	f.w.replayer = nil
	f.w.portSlots.Reopen()
	f.w.ports.mu.Lock()
	defer f.w.ports.mu.Unlock()
	f.w.ports.mu.fed = false
}

// ready returns ErrClosed if the Replayer or its world is closed, and panics while a tick runs.
func (f *Replayer) ready(call string) error {
	if err := f.w.ready(call); err != nil {
		return err
	}
	if f.w.replayer != f {
		return ErrClosed
	}
	return nil
}

// Draw replays Inputs.Drawn. It returns an error if the world is not in the state that was
// recorded.
func (f *Replayer) Draw(drawn uint32) error {
	if err := f.ready("Replayer.Draw"); err != nil {
		return err
	}
	return f.w.portSlots.Follow(drawn)
}

// Recall replays one handle of Inputs.Recalled. Errors are those of Draw.
func (f *Replayer) Recall(h handle.Handle) error {
	if err := f.ready("Replayer.Recall"); err != nil {
		return err
	}
	if err := f.use(h); err != nil {
		return err
	}
	f.w.portSlots.Recall(h)
	return nil
}

// Release replays one handle of Inputs.Released.
func (f *Replayer) Release(h handle.Handle) { f.w.livenessOf().Release(h) }

// Transfer replays Inputs.Shifts at the next refresh. It returns an error if the world has no
// such shards.
func (f *Replayer) Transfer(transfers []Transfer) error {
	if err := f.ready("Replayer.Transfer"); err != nil {
		return err
	}
	for _, x := range transfers {
		if n := len(f.w.shards); x.From < 0 || x.From >= n || x.To < 0 || x.To >= n || x.From == x.To || x.Entities < 1 {
			return fmt.Errorf("world: Replayer.Transfer of %d entities from shard %d to %d cannot be", x.Entities, x.From, x.To)
		}
	}
	f.transfers = append(f.transfers[:0], transfers...)
	return nil
}

// Request sends a recorded request again. It returns the cells of the request's payload, for
// the caller to fill in; there is no payload if their Type is nil. It returns an error if the
// world has no such requests.
func (f *Replayer) Request(kind int, flags store.RequestFlags, h handle.Handle) (store.Cells, error) {
	if err := f.ready("Replayer.Request"); err != nil {
		return store.Cells{}, err
	}
	if flags&store.Create != 0 {
		if err := f.use(h); err != nil {
			return store.Cells{}, err
		}
	}
	return f.w.space.Kinds().Resend(f.queue, kind, flags, h, f.w.epoch.Load())
}

// use marks a handle as no longer in a port's hand.
func (f *Replayer) use(h handle.Handle) error {
	if !f.w.portSlots.Pending(h) || f.used[h] {
		return fmt.Errorf("world: handle %v is created or recalled, and is not one that a port can have in hand", h)
	}
	f.used[h] = true
	return nil
}

// Publish publishes what was sent with Request.
func (f *Replayer) Publish() {
	if f.ready("Replayer.Publish") != nil {
		return // the world is closed, or has ports
	}
	clear(f.used)
	f.queue.Publish()
}
