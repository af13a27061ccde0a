package world

import (
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/internal/clock"
	"github.com/atoll-sim/atoll/internal/drive"
	"github.com/atoll-sim/atoll/internal/store"
)

// smallStep is the amount of work in a step of the refresh below which the coordinator does it
// alone: waking a worker costs more.
const smallStep = 512

// refresh is the work of ending a tick:
//
//	gather            find the queues that something was sent on         coordinator
//	read              take it, up to the cut; find the owners            by partition
//	create            store the rows of pending handles                  by owner
//	route             find the owners of what concerns those             by partition
//	apply             set, deliver, mark                                 by owner
//	commit            make alive what was created and is not marked      by owner
//	extend            what extensions were asked; deaths that follow     coordinator
//	observe           call hooks                                         by owner
//	collect outgoing  find what migrates to another shard                by owner
//	copy incoming     copy what comes from other shards                  by owner
//	compact           fill the holes of the marked and the outgoing      by owner
//	recycle           free the slots of the dead that are at home elsewhere   by home
//	release           give the queues' room back                         by partition
//	end tick          swap mailboxes, coalesce, publish flags            by owner
//	deliver           what is due of timers                              by home, by owner
//	derive            compute again what is derived from rows      coordinator, in parallel
//	capture           copy rows for a frame, if somebody waits for one   by shard, by column
//	notify            report outcomes                                    by partition
//
// A step with nothing to do is skipped.
//
// Ownership: the coordinator, which is the goroutine that called Refresh. Steps
// that run in parallel touch one partition, shard or home each.
type refresh struct {
	w           *World
	ports       []*endpoint
	producers   []producer
	partitions  []*partition // made when first needed
	active      []*partition // those of partitions that are in use
	cut         uint32
	staged      bool           // created entities become alive only when it is known that they stay
	calls       bool           // functions will run
	clear       bool           // all entities will die; see World.Clear
	aparts      []apart        // by shard
	releases    drive.Releases // by references
	incoming    store.Incoming
	remoteDead  store.RemoteDead
	transferred int // how many are to migrate by Transfer
	stepTimes

	part      func(int)                   // the step that runs in parallel
	parallel  drive.Parallel              // of the step derive
	derive    drive.Step                  // bound once
	guarded   func(int)                   // guard, bound once
	recovered atomic.Pointer[BrokenError] // by guarded

	// The steps, bound once: a closure made at each refresh would be garbage.
	read, create, route, apply, call, commit, collectOutgoing, copyIncoming, compact, recycle, release, endTick, notify, observe func(int)
}

func (r *refresh) init(w *World) {
	r.w = w
	r.scale = clock.Measure()
	r.guarded = r.guard
	r.derive = func(n, work int, f func(int)) { r.step(drive.StepDerive, r.parallel, n, work, f) }
	r.read = func(i int) { r.active[i].read(r.cut) }
	r.create = r.in("create", func(i int) {
		for _, x := range r.active {
			x.create(w.shards[i], r.staged)
		}
	})
	r.route = func(i int) { r.active[i].route() }
	r.apply = r.in("apply", func(i int) {
		for _, x := range r.active {
			x.apply(w.shards[i])
		}
	})
	r.aparts = make([]apart, len(w.shards))
	for i := range r.aparts {
		r.aparts[i].init(r, i)
	}
	r.call = r.in("apply", func(i int) { r.aparts[i].apply() })
	r.commit = r.in("commit", func(i int) {
		for _, x := range r.active {
			w.shards[i].Commit(x.Creates[i])
		}
	})
	r.observe = func(i int) { w.hooks.callers[i].call() } // without in: the Context of a hook enters the shard
	r.bindMoves(w)
	r.compact = r.in("compact", func(i int) { w.shards[i].Compact() })
	r.recycle = func(i int) {
		if i < len(w.shards) {
			w.shards[i].Recycle(r.remoteDead.Of(i))
			return
		}
		for _, s := range w.shards {
			w.portSlots.Recycle(s.PortDead())
		}
	}
	r.release = func(i int) { r.active[i].release() }
	r.endTick = r.in("end tick", func(i int) {
		w.mailboxes[i].swap(w.shards[i])
		w.shards[i].EndTick()
	})
	r.notify = func(i int) { r.active[i].notify() }
}

// in makes a step enter the shard that it works on. Check build only.
func (r *refresh) in(step string, f func(int)) func(int) {
	if !check.Enabled {
		return f
	}
	user := &store.Occupant{What: "step " + step + " of the refresh"}
	return func(i int) {
		r.w.shards[i].Enter(user)
		defer r.w.shards[i].Leave()
		f(i)
	}
}

// serial is the drive.Parallel of one goroutine.
func serial(n int, f func(int)) {
	for i := range n {
		f(i)
	}
}

// Refresh ends a tick, or settles the idle world: requests are applied, marked entities are
// destroyed and their handles become stale, storage is compact again, and messages become
// readable. Its cost depends on what changed.
//
// It panics while a tick or another refresh runs, also when called by a function, hook or
// extension of that refresh. It panics within a query loop, because it would move the rows that
// the loop walks. It panics with a *BrokenError if an extension panics: the world is broken
// then.
func (w *World) Refresh() {
	w.lookForChanges()
	w.enterPhase("World.Refresh", phaseRefresh)
	w.refresh.by(drive.ByRefresh)
	w.refresh.run(serial)
	w.leavePhase()
}

// run runs a refresh. If the refresh is not completed, the world is broken.
func (r *refresh) run(parallel drive.Parallel) {
	done := false
	defer r.w.guard(&done)
	r.steps(parallel)
	for _, s := range r.w.shards { // loops of the idle world get higher numbers than those of systems and hooks
		r.w.loop = max(r.w.loop, s.Loop)
	}
	done = true
}

func (r *refresh) steps(parallel drive.Parallel) {
	w, n := r.w, len(r.w.shards)
	w.outdate()
	w.recorderErr = nil
	for _, c := range w.contexts {
		c.failures, c.failedHooks, c.omitted = nil, nil, 0
	}
	if w.recording != nil {
		w.recording.begin.call()
	}
	if f := w.replayer; f != nil {
		w.transfer(f.transfers)
		f.transfers = f.transfers[:0]
	}
	r.start()
	cut, ports := w.ports.cut(&w.epoch)
	r.cut = cut
	sent, moves := r.gather(ports), 0
	if sent > 0 || r.transferred > 0 {
		moves = r.requests(parallel, sent)
	} else if r.clear {
		w.markAll()
	}
	w.portSlots.Cut()
	if w.recording != nil {
		w.recording.taken()
	}
	r.releases.Take(w.liveness.Load())
	for _, h := range r.releases.Due {
		if l := w.space.Locate(h); l != 0 {
			w.space.Mark(l)
		}
	}
	if len(w.extensions.all) > 0 {
		r.begin(drive.StepExtend)
		if w.extensions.refresh(r.active) && r.staged {
			serial(n, r.commit) // the spared entities are no longer marked
		}
	}
	if len(w.hooks.all) > 0 {
		r.step(drive.StepObserve, parallel, n, w.hooks.due(), r.observe)
	}
	if moves > 0 {
		r.move(parallel, moves)
	}
	dying := r.sum((*store.Shard).MarkedRows)
	r.step(drive.StepCompact, parallel, n, dying+moves+r.sum((*store.Shard).Dirty), r.compact)
	if sent > 0 || dying > 0 {
		if foreign := r.sum((*store.Shard).Foreign); foreign > 0 {
			r.remoteDead.Gather(w.shards)
			r.step(drive.StepRecycle, parallel, n+1, foreign, r.recycle)
		}
	}
	r.step(drive.StepRelease, parallel, len(r.active), sent, r.release)
	w.ports.retire()
	w.portSlots.Restock()
	if w.recording != nil {
		w.recording.finish()
	}
	if check.Enabled {
		w.space.Shift()
	}
	w.space.SetTick(w.tick.next())
	w.space.Trim()
	unsettled := r.sum((*store.Shard).Unfinished)
	for i := range w.mailboxes {
		unsettled += len(w.mailboxes[i].boxes)
	}
	r.step(drive.StepEndTick, parallel, n, unsettled, r.endTick)
	for i := range w.extensions.late {
		x := &w.extensions.late[i]
		due := x.Due(w.tick.Load())
		r.step(drive.StepDeliver, parallel, n+1, due, x.collect)
		r.step(drive.StepDeliver, parallel, n, due, x.deliver)
	}
	if w.extensions.derived != nil {
		r.begin(drive.StepDerive)
		r.parallel = parallel
		w.derive(r.derive)
		r.parallel = nil
	}
	if w.frames.asked.Load() > 0 || w.frames.last > 0 {
		r.begin(drive.StepCapture)
		w.frames.refresh(w, parallel)
	}
	if w.recording != nil {
		w.recording.settle()
	}
	if f := w.replayer; f != nil && f.settled != nil {
		f.settled()
	}
	r.step(drive.StepNotify, parallel, len(r.active), sent, r.notify) // last, so that a caller that gets an outcome sees its effect
	r.settle()
}

// requests applies the requests, except moves and those to extensions, and returns how many
// requests to move there were.
func (r *refresh) requests(parallel drive.Parallel, sent int) (moves int) {
	n := len(r.w.shards)
	r.divide(sent)
	r.staged, r.calls = r.clear, false
	r.step(drive.StepRead, parallel, len(r.active), sent, r.read)
	created, waiting, others := 0, 0, 0
	for _, x := range r.active {
		created, waiting, others = created+x.created, waiting+x.waiting(), others+x.Count
		moves += x.Moves
		r.staged, r.calls = r.staged || x.Cancels || x.Calls, r.calls || x.Calls // functions may destroy, too
	}
	moves, r.transferred = moves+r.transferred, 0
	for _, s := range r.w.shards {
		s.InMigration = moves > 0
	}
	r.step(drive.StepCreate, parallel, n, created, r.create)
	r.step(drive.StepRoute, parallel, len(r.active), waiting, r.route)
	if r.calls {
		r.step(drive.StepApply, parallel, n, others, r.call)
	} else {
		r.step(drive.StepApply, parallel, n, others, r.apply)
	}
	if r.clear { // before the commit, so that hooks are not called for the created entities
		r.w.markAll()
	}
	if r.staged {
		r.step(drive.StepCommit, parallel, n, created, r.commit)
	}
	return moves
}

// outdate makes the check build refuse views of rows that are about to move.
func (w *World) outdate() {
	if check.Enabled {
		w.space.Outdate()
	}
}

func (r *refresh) sum(of func(*store.Shard) int) int {
	n := 0
	for _, s := range r.w.shards {
		n += of(s)
	}
	return n
}

// step runs f in parallel if there is enough work, on one goroutine if there is little, and not
// at all if there is none.
func (r *refresh) step(step drive.RefreshStep, parallel drive.Parallel, n, work int, f func(int)) {
	if work == 0 {
		return
	}
	r.begin(step)
	switch {
	case work < smallStep || n == 1:
		serial(n, f)
	default:
		r.part = f
		parallel(n, r.guarded)
		if e := r.recovered.Load(); e != nil {
			panic(e)
		}
	}
}

// guard runs one part of a step that runs in parallel. It keeps a panic for the coordinator.
func (r *refresh) guard(i int) {
	done := false
	defer func() {
		if !done {
			r.recovered.CompareAndSwap(nil, asBroken(r.w, recover()))
		}
	}()
	r.part(i)
	done = true
}

// gather finds the queues that requests were sent on, first ports by number, then the shards'
// outboxes. It returns how many requests there are.
func (r *refresh) gather(ports bool) (sent int) {
	w := r.w
	clear(r.ports)
	clear(r.producers)
	r.ports, r.producers, r.active = r.ports[:0], r.producers[:0], nil
	if w.closed.Load() {
		return 0 // a sender that sends now abandons its queue: see Port.sent
	}
	if ports {
		r.ports = w.ports.collect(r.ports)
	}
	for _, e := range r.ports {
		r.waited = append(r.waited, e.since.Load())
		queue := e.queue.Load()
		sent += queue.Ready()
		r.producers = append(r.producers, producer{queue, e})
	}
	if f := w.replayer; f != nil { // no ports are open
		sent += f.queue.Ready()
		r.producers = append(r.producers, producer{queue: f.queue})
	}
	for _, c := range w.contexts {
		if l := c.out.out; l != nil && !l.Empty() {
			sent += l.Ready()
			r.producers = append(r.producers, producer{queue: l})
		}
	}
	return sent
}

// divide divides the producers into partitions with about as many requests each.
func (r *refresh) divide(sent int) {
	n := min(len(r.producers), max(1, sent/smallStep), drive.PartitionsMax)
	for len(r.partitions) < n {
		r.partitions = append(r.partitions, newPartition(r.w, len(r.partitions)))
	}
	r.active = r.partitions[:n]
	rest, seen := r.producers, 0
	for i, x := range r.active {
		to := 0
		for to < len(rest) && (i == n-1 || int64(seen) < int64(sent)*int64(i+1)/int64(n)) {
			seen += rest[to].queue.Ready()
			to++
		}
		x.producers, rest = rest[:to], rest[to:]
	}
}
