package refresh

import (
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/extend"
)

// recording holds a world's Recorder. Its methods are called aside, so that a panic in them is
// contained.
//
// Ownership: the coordinator. Each part of partitions belongs to the worker that reads the
// partition; failed is stored by any of them, once.
type recording struct {
	extend.Recorder
	extend.Inputs
	e          *Engine
	sealer     extend.Sealer // the Recorder, if ticks are sealed, or nil
	begin      methodCaller
	partitions [extend.PartitionsMax]methodCaller
	end        methodCaller
	settled    methodCaller
	commit     methodCaller
	lost       error // why Commit has failed
	failed     atomic.Pointer[Panic]
}

// methodCaller calls one method.
type methodCaller struct {
	Aside
	of     *recording
	method string
}

// Record sets the Recorder that receives the inputs, for an idle world or one that breaks; nil
// removes it.
func (e *Engine) Record(to extend.Recorder) {
	if to == nil {
		e.recording = nil
		e.PortSlots.Note(false)
		return
	}
	r := &recording{Recorder: to, e: e}
	r.begin.bind(r, "Begin", to.Begin)
	for i := range r.partitions {
		r.partitions[i].bind(r, "Requests", func() { e.partitions[i].record(to) })
	}
	r.end.bind(r, "End", func() { to.End(&r.Inputs) })
	r.settled.bind(r, "Settled", to.Settled)
	if r.sealer, _ = to.(extend.Sealer); r.sealer != nil {
		r.commit.bind(r, "Commit", func() { r.lost = r.sealer.Commit() })
	}
	r.Inputs.Settled = e.PortSlots.Settled()
	e.PortSlots.Note(r.sealer == nil)
	e.recording = r
}

// records reports whether a refresh records what it applies. Of a sealed tick that was recorded when
// it began; and of the refreshes in which a sealed world is closed nothing is.
func (e *Engine) records() bool { return e.recording != nil && e.recording.sealer == nil }

// Recorder returns the Recorder, or nil.
func (e *Engine) Recorder() extend.Recorder {
	if e.recording == nil {
		return nil
	}
	return e.recording.Recorder
}

// Recorded reports whether there is a Recorder.
func (e *Engine) Recorded() bool { return e.recording != nil }

// bind binds a method of the Recorder, by its name, to be called aside. Engine.Record calls it, on
// the idle world.
func (m *methodCaller) bind(of *recording, method string, f func()) {
	m.of, m.method = of, method
	m.Aside.Bind(f)
}

// call calls the method, unless the Recorder has panicked. It keeps the first panic for check.
func (m *methodCaller) call() {
	if failed := &m.of.failed; failed.Load() == nil && !m.Aside.Call() {
		failed.CompareAndSwap(nil, &Panic{During: m.method, Value: m.Value, Stack: m.Stack})
	}
}

// refreshed calls finish when all requests are done, and before the number of the tick rises.
func (r *recording) refreshed() {
	r.Drawn = r.e.PortSlots.Settled() // what was drawn at the cut: that includes the handles of the creates
	r.Recalled = r.e.PortSlots.TakeRecalls(r.Recalled[:0])
	r.finish()
}

// finish calls End.
func (r *recording) finish() {
	e := r.e
	r.Tick, r.Released, r.Rung = e.Tick.Load(), e.releases.Due, e.Rung
	r.Shifts, r.Switches = e.shifts, e.Switches
	r.end.call()
	r.check()
}

// settle calls Settled, on the coordinator, when the refresh has changed the last thing.
func (r *recording) settle() {
	r.settled.call()
	r.check()
}

// check calls Failed and removes the Recorder, if it has panicked. Where ticks are sealed, Commit does
// that.
func (r *recording) check() {
	if p := r.failed.Load(); p != nil && r.sealer == nil {
		r.e.Record(nil)
		r.stop(p)
	}
}

// stop calls Failed after a panic of the Recorder, and returns the error.
func (r *recording) stop(p *Panic) error {
	err := r.e.owner.RecorderPanicked(p)
	var last Aside
	last.Bind(func() { r.Failed(err) })
	last.Call()
	return err
}
