package world

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/queue"
)

// recording holds a world's Recorder. Its methods are called aside, so that a panic in them is
// contained.
//
// Ownership: the coordinator. Each part of partitions belongs to the worker that reads the
// partition; failed is stored by any of them, once.
type recording struct {
	drive.Recorder
	drive.Inputs
	w          *World
	begin      partitionRecorder
	partitions [drive.PartitionsMax]partitionRecorder
	end        partitionRecorder
	settled    partitionRecorder
	changed    func() // nil: changes of the idle world are of no interest
	left       uint64 // fingerprint of the idle world that a replay makes
	failed     atomic.Pointer[PanicError]
}

// partitionRecorder calls one method.
type partitionRecorder struct {
	aside
	of        *recording
	method    string
	partition *partition // of Request
	cut       uint32
	seen      []uint32 // by producer: the counter up to which its requests were recorded
}

func newRecording(w *World, l drive.Recorder) *recording {
	x := &recording{Recorder: l, w: w}
	x.begin.init(x, "Begin", l.Begin)
	for i := range x.partitions {
		s := &x.partitions[i]
		s.init(x, "Request", s.look)
	}
	x.end.init(x, "End", func() { l.End(&x.Inputs) })
	x.settled.init(x, "Settled", l.Settled)
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
	e := &PanicError{In: inRecorder, Name: s.method, Shard: AllShards, Tick: x.w.tick.Load(), Value: s.value, Stack: s.stack}
	if e.Value == nil {
		e.Value = errGoexit
	}
	x.failed.CompareAndSwap(nil, e)
	return false
}

// record calls the Recorder with the requests of ports in the partition. It returns, by producer,
// up to where requests were recorded before the Recorder panicked, if it did.
func (s *partitionRecorder) record(x *partition, cut uint32) (seen []uint32) {
	s.partition, s.cut, s.seen = x, cut, s.seen[:0]
	s.call()
	return s.seen
}

func (s *partitionRecorder) look() {
	for _, from := range s.partition.producers {
		if from.port == nil { // an outbox or the replayer's queue: nothing is sent there during a refresh
			s.seen = append(s.seen, from.queue.Sent())
			continue
		}
		s.seen = append(s.seen, from.queue.Look(s.cut, func(r queue.PendingRequest) {
			s.of.Request(s.partition.number, int(from.port.number), r)
		}))
	}
}

// recordInputs sets the Recorder that receives the world's inputs; nil removes it. A world
// without a Recorder pays nothing for this.
func (w *World) recordInputs(l drive.Recorder, changed func()) error {
	w.mustIdle("recording inputs")
	if l == nil {
		w.recording = nil
		w.portSlots.Note(false)
		return nil
	}
	if w.recording != nil {
		return errors.New("world: the world's inputs are recorded already, by another Recorder or a durable.Store; close that first")
	}
	w.recording = newRecording(w, l)
	w.recording.changed = changed
	w.recording.Inputs.Settled = w.portSlots.Settled()
	w.recording.leave()
	w.portSlots.Note(true)
	return nil
}

// by records what the refresh is part of.
func (r *refresh) by(what drive.Refresh) {
	r.tick = what == drive.ByTick
	if x := r.w.recording; x != nil {
		x.By = what
	}
}

// leave records the state of the world.
func (x *recording) leave() {
	if x.changed != nil {
		x.left, x.w.touched = x.w.fingerprint(), false
	}
}

// fingerprint shows changes of the rows. Other changes set touched.
func (w *World) fingerprint() uint64 {
	d := uint64(w.cursor)<<32 | uint64(uint32(w.run))
	for _, s := range w.shards {
		d = s.Fingerprint(d)
	}
	return d
}

// lookForChanges calls the function that RecordInputs was given if the idle world has changed since
// leave. A refresh within a function that a replay calls as well is a change: the replay would make
// it without its inputs.
func (w *World) lookForChanges() {
	if w.phase.Load() != phaseIdle {
		return // not idle: the call that goes on says why
	}
	x := w.recording
	switch {
	case x == nil || x.changed == nil || w.open > 0 || x.failed.Load() != nil:
		return
	case !w.touched && !w.replayed && w.fingerprint() == x.left:
		return
	}
	x.leave()
	x.changed()
}

// taken records how many indexes were drawn until all requests were taken. That includes the
// handles of creates.
func (x *recording) taken() { x.Drawn = x.w.portSlots.Drawn() }

// finish calls End.
func (x *recording) finish() {
	w := x.w
	x.Tick, x.Released, x.Rung = w.tick.Load(), w.refresh.releases.Due, w.rung
	x.Recalled = w.portSlots.TakeRecalls(x.Recalled[:0])
	x.end.call()
	x.Transfers = x.Transfers[:0]
	x.check()
}

// settle calls Settled.
func (x *recording) settle() {
	x.settled.call()
	x.check()
	x.leave()
}

// check calls Failed and removes the Recorder, if it has panicked.
func (x *recording) check() {
	w := x.w
	if w.recorderErr = x.failed.Load(); w.recorderErr != nil {
		w.recording = nil
		w.portSlots.Note(false)
		var last aside
		last.init(func() { x.Failed(w.recorderErr) })
		last.call()
	}
}

// errReplaying is returned when a port is opened during a replay of inputs, and for a replay while
// ports are open.
var errReplaying = errors.New("world: ports and a replay of inputs at the same time")

// replayer is the drive.Replayer of a world.
//
// Ownership: the world's goroutine, while the world is idle.
type replayer struct {
	w         *World
	queue     *queue.Queue
	settled   func()                 // of OnSettled, or nil
	transfers []drive.Transfer       // of the next refresh
	rung      uint8                  // of the next tick
	used      map[handle.Handle]bool // by creates and recalls since the last Publish
}

func (w *World) replayInputs() (drive.Replayer, error) {
	if err := w.ready("replaying inputs"); err != nil {
		return nil, err
	}
	w.ports.mu.Lock()
	defer w.ports.mu.Unlock()
	if n := len(w.ports.mu.byNumber) - len(w.ports.mu.free); n > 0 || w.replayer != nil {
		return nil, fmt.Errorf("%w: %d ports are open; close them, and refresh the world", errReplaying, n)
	}
	w.replayer = &replayer{w: w, queue: queue.New(w.space.Registry, min(1<<31, math.MaxInt), min(1<<35, math.MaxInt)), used: map[handle.Handle]bool{}}
	w.ports.mu.fed = true
	return w.replayer, nil
}

func (f *replayer) Close() {
	if f.ready("replaying inputs") != nil {
		return
	}
	f.w.replayer = nil
	f.w.portSlots.Reopen()
	f.w.ports.mu.Lock()
	defer f.w.ports.mu.Unlock()
	f.w.ports.mu.fed = false
}

// ready returns ErrClosed if the replayer or its world is closed, and panics while a tick runs.
func (f *replayer) ready(call string) error {
	if err := f.w.ready(call); err != nil {
		return err
	}
	if f.w.replayer != f {
		return ErrClosed
	}
	return nil
}

func (f *replayer) OnSettled(do func()) { f.settled = do }

func (f *replayer) Draw(drawn uint32) error {
	if err := f.ready("replaying inputs"); err != nil {
		return err
	}
	return f.w.portSlots.Follow(drawn)
}

func (f *replayer) Drawn() uint32 { return f.w.portSlots.Drawn() }

func (f *replayer) Recall(h handle.Handle) error {
	if err := f.ready("replaying inputs"); err != nil {
		return err
	}
	if err := f.use(h); err != nil {
		return err
	}
	f.w.portSlots.Recall(h)
	return nil
}

func (f *replayer) Release(h handle.Handle) { (*driven)(f.w).Liveness().Release(h) }

func (f *replayer) Transfer(transfers []drive.Transfer) error {
	if err := f.ready("replaying inputs"); err != nil {
		return err
	}
	for _, x := range transfers {
		if n := len(f.w.shards); x.From < 0 || x.From >= n || x.To < 0 || x.To >= n || x.From == x.To || x.Entities < 1 {
			return fmt.Errorf("world: a recorded transfer of %d entities from shard %d to %d cannot be", x.Entities, x.From, x.To)
		}
	}
	f.transfers = append(f.transfers[:0], transfers...)
	return nil
}

func (f *replayer) Rung(n uint8) { f.rung = n }

func (f *replayer) Request(kind int, flags queue.Flags, h handle.Handle) (mem.Cells, error) {
	if err := f.ready("replaying inputs"); err != nil {
		return mem.Cells{}, err
	}
	if flags&queue.Create != 0 {
		if err := f.use(h); err != nil {
			return mem.Cells{}, err
		}
	}
	return f.w.space.Kinds().Resend(f.queue, kind, flags, h, f.w.epoch.Load())
}

// use records that a handle is no longer in a port's cache.
func (f *replayer) use(h handle.Handle) error {
	if int(h.Shard()) != len(f.w.shards) || h.Index() >= f.w.portSlots.Drawn() || f.used[h] {
		return fmt.Errorf("%w: handle %v is created or recalled twice, or no port has drawn it", drive.ErrForged, h)
	}
	if !f.w.portSlots.Pending(h) {
		return fmt.Errorf("world: handle %v is created or recalled, and is not one that a port can have in hand", h)
	}
	f.used[h] = true
	return nil
}

func (f *replayer) Publish() {
	if f.ready("replaying inputs") != nil {
		return // the world is closed, or has ports
	}
	clear(f.used)
	f.queue.Publish()
}
