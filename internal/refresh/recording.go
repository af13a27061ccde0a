package refresh

import (
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/queue"
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
	of        *recording
	method    string
	partition *partition // of Request
	cut       uint32
	seen      []uint32 // by producer: the counter up to which its requests were recorded
}

// Record sets the Recorder that receives the inputs, for an idle world; nil removes it.
func (e *Engine) Record(l extend.Recorder) {
	if l == nil {
		e.recording = nil
		e.PortSlots.Note(false)
		return
	}
	x := &recording{Recorder: l, e: e}
	x.begin.bind(x, "Begin", l.Begin)
	for i := range x.partitions {
		s := &x.partitions[i]
		s.bind(x, "Request", s.look)
	}
	x.end.bind(x, "End", func() { l.End(&x.Inputs) })
	x.settled.bind(x, "Settled", l.Settled)
	x.Inputs.Settled = e.PortSlots.Settled()
	e.PortSlots.Note(true)
	e.recording = x
}

// Recorded reports whether there is a Recorder.
func (e *Engine) Recorded() bool { return e.recording != nil }

func (s *methodCaller) bind(x *recording, method string, f func()) {
	s.of, s.method = x, method
	s.Aside.Bind(f)
}

// call calls the method, unless the Recorder has panicked, and reports whether it returned.
func (s *methodCaller) call() bool {
	x := s.of
	if x.failed.Load() != nil {
		return false
	}
	if s.Aside.Call() {
		return true
	}
	x.failed.CompareAndSwap(nil, &Panic{During: s.method, Value: s.Value, Stack: s.Stack})
	return false
}

// record calls the Recorder with the requests of ports in the partition. It returns, by producer,
// up to where they were recorded: less than all if the Recorder has panicked.
func (s *methodCaller) record(x *partition, cut uint32) (seen []uint32) {
	s.partition, s.cut, s.seen = x, cut, s.seen[:0]
	s.call()
	return s.seen
}

func (s *methodCaller) look() {
	for _, from := range s.partition.producers {
		if from.port == nil { // an outbox or the queue of a replay: nothing is sent there during a refresh
			s.seen = append(s.seen, from.queue.Sent())
			continue
		}
		s.seen = append(s.seen, from.queue.Look(s.cut, func(r queue.PendingRequest) {
			s.of.Request(s.partition.number, int(from.port.Number), r)
		}))
	}
}

// finish calls End: when all requests are done, and before the number of the tick rises.
func (x *recording) finish() {
	e := x.e
	x.Tick, x.Released, x.Rung = e.Tick.Load(), e.releases.Due, e.Rung
	x.Drawn = e.PortSlots.Settled() // what was drawn at the cut: that includes the handles of the creates
	x.Recalled = e.PortSlots.TakeRecalls(x.Recalled[:0])
	x.end.call()
	x.Transfers = x.Transfers[:0]
	x.check()
}

// settle calls Settled.
func (x *recording) settle() {
	x.settled.call()
	x.check()
}

// check calls Failed and removes the Recorder, if it has panicked.
func (x *recording) check() {
	p := x.failed.Load()
	if p == nil {
		return
	}
	x.e.Record(nil)
	err := x.e.owner.RecorderPanicked(p)
	var last Aside
	last.Bind(func() { x.Failed(err) })
	last.Call()
}
