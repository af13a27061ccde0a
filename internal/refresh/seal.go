package refresh

import (
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/queue"
)

// seal is what a sealed tick has fixed: what its refresh will apply.
//
//	queue of a port   [taken … upto │ … sent │ later]     upto is a prefix, of whole batches
//
// Ownership: the coordinator, and the goroutine of encode while it waits.
type seal struct {
	on       bool
	done     bool     // Commit has returned nil
	upto     []uint32 // by sender: the counter up to which the refresh takes its requests
	used     []uint64 // by sender: the bytes of that
	first    int32    // the number of the port that is first to take more than its share
	kept     []queue.PendingRequest
	keep     func(queue.PendingRequest) // appends to kept; bound once
	port     int
	at       int // the next of kept to be encoded
	encoding methodCaller
	failing  methodCaller
	value    any // that encoding has panicked with
}

func (x *seal) init(e *Engine) {
	x.keep = func(p queue.PendingRequest) { x.kept = append(x.kept, p) }
	x.encoding.Aside.Bind(func() {
		for ; x.at < len(x.kept); x.at++ {
			e.recording.sealer.Request(x.port, x.kept[x.at])
		}
	})
	x.failing.bind(nil, "Fail", func() { e.recording.sealer.Fail(x.port, x.kept[x.at], x.value) })
}

// Seal fixes what the refresh of this tick will apply, and has the Recorder record it. What ports do
// from now on belongs to the next tick. It does nothing if ticks are not sealed. In a replay of a
// sealed tick it takes what references have released, as the recorded tick has.
func (e *Engine) Seal() {
	x, r := &e.seal, e.recording
	switch f := e.Replay; {
	case x.on || e.Closed.Load():
		return
	case f != nil:
		x.on, f.Sealed = f.Sealed, false
	default:
		x.on = e.Sealing()
	}
	if !x.on {
		return
	}
	x.done = false
	if r != nil {
		r.begin.call()
	}
	cut, ports := e.Ports.cut(&e.Epoch)
	e.cut = cut
	e.collect(ports)
	e.measure()
	drawn := e.PortSlots.Seal()
	if r != nil {
		e.encode()
	}
	e.releases.Take(e.Liveness.Load(), true)
	if r != nil {
		r.Drawn, r.Recalled, r.Inputs.Sealed = drawn, append(r.Recalled[:0], e.PortSlots.Due()...), true
		r.finish()
	}
}

// Sealing reports whether ticks that are recorded are sealed.
func (e *Engine) Sealing() bool { return e.recording != nil && e.recording.sealer != nil }

// Sealed reports whether Seal has fixed what the next refresh applies, and the Recorder has it.
func (e *Engine) Sealed() bool { return e.seal.on && e.recording != nil }

// measure decides how many requests of each port are taken.
func (e *Engine) measure() {
	x := &e.seal
	x.upto, x.used = x.upto[:0], x.used[:0]
	left, cutOff := uint64(extend.SealBytes), false
	for _, p := range e.senders {
		q := p.Queue.Load()
		upto, used := q.Measure(e.cut, extend.SealBytes/uint64(len(e.senders)), false)
		x.upto, x.used = append(x.upto, upto), append(x.used, used)
		left, cutOff = left-used, cutOff || q.ReadyTo(upto) < q.Ready()
	}
	if !cutOff {
		return
	}
	n, begin := len(e.senders), 0
	for begin < n && e.senders[begin].Number < x.first {
		begin++
	}
	for i := range n {
		at := (begin + i) % n
		p := e.senders[at]
		q := p.Queue.Load()
		upto, used := q.Measure(e.cut, x.used[at]+left, i == 0)
		left -= min(left, used-x.used[at])
		x.upto[at], x.used[at] = upto, used
		if x.first = p.Number; q.ReadyTo(upto) < q.Ready() {
			return // it comes first the next time: its next batch may need all the room there is
		}
	}
}

// encode passes the requests of ports to the Recorder. Those that it cannot encode fail.
func (e *Engine) encode() {
	x, r := &e.seal, e.recording
	for i, p := range e.senders {
		clear(x.kept)
		x.kept, x.at, x.port = x.kept[:0], 0, int(p.Number)
		p.Queue.Load().Sealed(x.upto[i], x.keep)
		for r.failed.Load() == nil && x.at < len(x.kept) && !x.encoding.Aside.Call() {
			x.value = x.encoding.Value
			x.failing.of = r
			x.failing.call()
			e.fail(x.kept[x.at])
			x.at++
		}
	}
	clear(x.kept)
	x.kept = x.kept[:0]
}

// fail has the refresh decide a request as Failed. The handles of a create are free again afterwards.
func (e *Engine) fail(p queue.PendingRequest) {
	if p.IsCreate() {
		if p.IsMany() {
			for _, h := range p.Handles() {
				e.PortSlots.Fail(h)
			}
		} else {
			e.PortSlots.Fail(p.Handle)
		}
	}
	p.Fail(e.cut)
}

// Commit waits until what Seal has recorded is where it has to be. If it returns an error, the tick
// must not be refreshed.
func (e *Engine) Commit() error {
	r := e.recording
	if !e.seal.on || !e.Sealing() {
		return nil
	}
	if e.seal.done {
		return nil
	}
	r.lost = nil
	r.commit.call()
	if p := r.failed.Load(); p != nil {
		return r.stop(p)
	}
	e.seal.done = r.lost == nil
	return r.lost
}

// Lose decides the requests of a world that is closed because its log cannot be written: what was
// sealed as Unknown, and what came later as Closed.
func (e *Engine) Lose() {
	var upto []uint32
	if e.seal.on {
		upto = e.seal.upto
	}
	e.Ports.lose(e.senders[:len(upto)], upto)
}
