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
	begin      methodCaller
	partitions [extend.PartitionsMax]methodCaller
	end        methodCaller
	settled    methodCaller
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
	r.Inputs.Settled = e.PortSlots.Settled()
	e.PortSlots.Note(true)
	e.recording = r
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

// finish calls End, on the coordinator: when all requests are done, and before the number of the
// tick rises.
func (r *recording) finish() {
	e := r.e
	r.Tick, r.Released, r.Rung = e.Tick.Load(), e.releases.Due, e.Rung
	r.Drawn = e.PortSlots.Settled() // what was drawn at the cut: that includes the handles of the creates
	r.Recalled = e.PortSlots.TakeRecalls(r.Recalled[:0])
	r.end.call()
	r.Shifts = r.Shifts[:0]
	r.check()
}

// settle calls Settled, on the coordinator, when the refresh has changed the last thing.
func (r *recording) settle() {
	r.settled.call()
	r.check()
}

// check removes the Recorder, if it has panicked, and calls Failed. The refresh goes on.
func (r *recording) check() {
	p := r.failed.Load()
	if p == nil {
		return
	}
	r.e.Record(nil)
	err := r.e.owner.RecorderPanicked(p)
	var last Aside
	last.Bind(func() { r.Failed(err) })
	last.Call()
}
