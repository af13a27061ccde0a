package refresh

import (
	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/store"
)

// By sets what the coming refresh is part of. Who begins the refresh or the tick calls it.
func (e *Engine) By(what extend.Refresh) {
	e.Times.tick = what == extend.ByTick
	if x := e.recording; x != nil {
		x.By = what
	}
}

// Run does a refresh, on the goroutine that has taken the world, which is now the coordinator; with
// all, one that destroys all entities. It panics with a *Panic, or the value of another panic on
// this goroutine, if it cannot be completed: then the world is broken.
func (e *Engine) Run(parallel extend.Parallel, all bool) {
	n := len(e.Shards)
	e.clear = all
	if check.Enabled {
		e.Space.Outdate() // the check build refuses views of rows that are about to move
	}
	if e.records() {
		e.recording.begin.call()
	}
	if f := e.Replay; f != nil {
		e.shifts, f.Shifts = append(e.shifts[:0], f.Shifts...), f.Shifts[:0]
	}
	e.shift()
	e.Times.start()
	ports := false
	if !e.seal.on {
		e.cut, ports = e.Ports.cut(&e.Epoch)
	}
	e.PortSlots.Cut()
	if f := e.Meanwhile.Cut; f != nil {
		f()
	}
	sent, moves := e.gather(ports), 0
	e.joint = 0
	if sent > 0 || e.shifted > 0 {
		moves = e.requests(parallel, sent)
	} else if e.clear {
		e.MarkAll()
	}
	if !e.seal.on {
		e.releases.Take(e.Liveness.Load(), false)
	}
	for _, h := range e.releases.Due {
		if l := e.Space.Locate(h); l != 0 {
			e.Space.Mark(l)
		}
	}
	transacted := false
	if e.Extensions.Len() > 0 || e.joint > 0 {
		e.Times.begin(extend.StepExtend)
		if transacted = e.Extensions.apply(e.active); transacted && e.clear {
			e.MarkAll() // again: transactions may have created some
		}
		if e.Extensions.Len() > 0 && e.Extensions.refresh() && e.staged {
			Serial(n, e.commit) // the spared entities are no longer marked
		}
	}
	if e.Hooked {
		events := e.owner.GatherEvents()
		e.Space.Reveal(e.Shards)
		e.step(extend.StepObserve, parallel, n, events, e.observe)
	}
	if e.moving = moves > 0; e.moving {
		e.move(parallel, moves)
	}
	dying, dirty := 0, 0
	for _, s := range e.Shards {
		if d := s.Dirty(); d > 0 {
			dying, dirty = dying+s.MarkedRows(), dirty+d
		}
	}
	e.step(extend.StepCompact, parallel, n, dying+moves+dirty, e.compact)
	if sent > 0 || dying > 0 {
		if foreign := e.sum(func(s *store.Shard) int { return s.Deferred() }); foreign > 0 {
			e.remoteDead.Gather(e.Shards)
			e.step(extend.StepRecycle, parallel, n+1, foreign, e.recycle)
		}
	}
	e.step(extend.StepRelease, parallel, len(e.active), sent, e.release)
	e.PortSlots.Restock()
	if e.records() {
		e.recording.refreshed()
	}
	e.shifts, e.Switches, e.seal.on = e.shifts[:0], nil, false
	if check.Enabled {
		e.Space.Shift()
	}
	e.Space.SetTick(e.Tick.next())
	e.Space.Trim()
	e.step(extend.StepEndTick, parallel, n, e.sum((*store.Shard).Unfinished)+e.Mail.boxes(), e.endTick)
	if transacted {
		e.owner.MoveTaken()
	}
	for i := range e.Extensions.late {
		x := e.Extensions.runLate(i)
		due := x.Due(e.Tick.Load())
		e.step(extend.StepDeliver, parallel, e.Space.Homes(), due, x.collect)
		e.step(extend.StepDeliver, parallel, n, due, x.deliver)
	}
	e.Extensions.running = ""
	if e.Extensions.Derived != nil {
		e.Times.begin(extend.StepDerive)
		e.parallel = parallel
		e.Extensions.Derive(e.derive)
		e.parallel = nil
	}
	if e.owner.FramesDue() {
		e.Times.begin(extend.StepCapture)
		e.owner.Capture(parallel)
	}
	if e.recording != nil {
		e.recording.settle()
	}
	if f := e.Replay; f != nil && f.Settled != nil {
		f.Settled()
	}
	e.step(extend.StepNotify, parallel, len(e.active), sent, e.notify) // last, so that a caller that gets an outcome sees its effect
	e.Ports.retire()                                                   // until then Abandon finds the queues
	e.Times.settle()
}

// requests applies the requests, except moves and requests to extensions, in the steps read to
// commit. It returns how many requests to move there were.
func (e *Engine) requests(parallel extend.Parallel, sent int) (moves int) {
	n := len(e.Shards)
	e.divide(sent)
	e.staged, e.calls = e.clear, false
	e.step(extend.StepRead, parallel, len(e.active), sent, e.read)
	created, waiting, others := 0, 0, 0
	for _, x := range e.active {
		created, waiting, others = created+x.created, waiting+x.waiting(), others+x.Count
		moves += x.Moves
		e.joint += len(x.Joint)
		e.staged, e.calls = e.staged || x.Cancels || x.Calls, e.calls || x.Calls // functions may destroy, too
	}
	moves, e.shifted = moves+e.shifted, 0
	for _, s := range e.Shards {
		s.BeginRequests(moves > 0)
	}
	e.step(extend.StepCreate, parallel, n, created, e.create)
	e.step(extend.StepRoute, parallel, len(e.active), waiting, e.route)
	if e.calls {
		e.stage(true)
		e.step(extend.StepApply, parallel, n, others, e.applyAside)
		e.stage(false)
	} else {
		e.step(extend.StepApply, parallel, n, others, e.apply)
	}
	if e.clear { // before the commit, so that hooks are not called for the created entities
		e.MarkAll()
	}
	if e.staged {
		e.step(extend.StepCommit, parallel, n, created+e.sum((*store.Shard).Staged), e.commit)
	}
	return moves
}

// stage begins or ends the time in which functions run: what they create is staged.
func (e *Engine) stage(on bool) {
	for _, s := range e.Shards {
		s.Stage(on)
	}
}

// move migrates atoms: their shards give up the atoms and the messages for them, then other shards
// take them in. A shard without room refuses an atom, which stays.
func (e *Engine) move(parallel extend.Parallel, asked int) {
	n := len(e.Shards)
	e.step(extend.StepCollectOutgoing, parallel, n, asked, e.collectOutgoing)
	e.incoming.Gather(e.Shards)
	e.Mail.gather()
	e.step(extend.StepCopyIncoming, parallel, n, asked, e.copyIncoming)
	e.Space.Moved()
	for _, s := range e.Shards {
		e.Mail.Misrouted = e.Mail.Misrouted || s.Full() // messages have gone ahead to a shard that refused their atom
	}
}

// MarkAll marks every entity and returns how many were not marked before, on the goroutine that has
// taken the world.
func (e *Engine) MarkAll() int {
	n := 0
	for _, s := range e.Shards {
		n += s.MarkAll()
	}
	return n
}

// Abandon decides all requests of a world that broke as Broken, on the goroutine that broke it.
func (e *Engine) Abandon() { e.Ports.abandonAll(e.senders, queue.Broken) }

// Senders returns how many ports the newest refresh has looked at. For an idle world.
func (e *Engine) Senders() int { return len(e.senders) }

// Outcomes calls f with the outcomes of requests that no shard decides. For an idle world.
func (e *Engine) Outcomes(f func(*queue.Outcomes)) {
	for _, x := range e.partitions {
		f(&x.lost)
	}
}
