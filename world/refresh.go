package world

import (
	"sync/atomic"

	"github.com/atoll-sim/atoll/internal/check"
	"github.com/atoll-sim/atoll/shard"
)

// Parallel runs f(0) … f(n-1), on as many goroutines as it likes, and returns
// when all are done. f does not panic.
type Parallel func(n int, f func(i int))

// smallStep is the number of things to do in a step of the refresh below which
// the coordinator does them alone: waking a worker costs more.
const smallStep = 512

// sharesMax is the largest number of shares into which the sources are divided.
// Each has lists for every shard.
const sharesMax = 64

// refresh is the work of ending a tick:
//
//	gather   find the lanes that something was sent on       coordinator
//	read     take it, up to the cut; find the owners         by share of the sources
//	create   store the atoms of pending handles              by owner
//	route    find the owners of what concerns those          by share
//	apply    set, deliver, mark                              by owner
//	unveil   make alive who was created and not marked       by owner
//	extend   what extensions were asked; deaths that follow  coordinator
//	observe  call hooks                                      by owner
//	depart   let go of those who move to another shard       by owner
//	arrive   take them in                                    by owner
//	sweep    close the holes of the marked and the departed  by owner
//	recycle  free the slots of dead who were at home elsewhere   by home
//	release  give the lanes' room back                       by share
//	settle   flip messages                                   by owner
//	tell     tell outcomes                                   by share
//
// A step with nothing to do is skipped.
//
// Ownership: the coordinator, which is the goroutine that called Refresh. Steps
// that run in parallel touch one share, shard or home each.
type refresh struct {
	w        *World
	ports    []*endpoint
	sources  []source
	all      []*share // made when first needed
	shares   []*share // of all, those in use
	cut      uint32
	veiled   bool     // what is created is not alive before it is known whether it stays
	calls    bool     // functions are to run
	clear    bool     // all are to die; see World.Clear
	aparts   []apart  // by shard
	releases releases // by references
	comers   shard.Comers
	exiled   shard.Exiled
	shifted  int // how many are to move by decisions

	part    func(int)                   // of the step that runs in parallel
	guarded func(int)                   // guard, bound once
	caught  atomic.Pointer[BrokenError] // by it

	// The steps, bound once: a closure made at each refresh would be garbage.
	read, create, route, apply, call, unveil, depart, arrive, sweep, recycle, release, settle, tell, observe func(int)
}

func (r *refresh) init(w *World) {
	r.w = w
	r.guarded = r.guard
	r.read = func(i int) { r.shares[i].read(r.cut) }
	r.create = r.in("create", func(i int) {
		for _, x := range r.shares {
			x.create(w.shards[i], r.veiled)
		}
	})
	r.route = func(i int) { r.shares[i].route() }
	r.apply = r.in("apply", func(i int) {
		for _, x := range r.shares {
			x.apply(w.shards[i])
		}
	})
	r.aparts = make([]apart, len(w.shards))
	for i := range r.aparts {
		r.aparts[i].init(r, i)
	}
	r.call = r.in("apply", func(i int) { r.aparts[i].apply() })
	r.unveil = r.in("unveil", func(i int) {
		for _, x := range r.shares {
			w.shards[i].Unveil(x.Creates[i])
		}
	})
	r.observe = func(i int) { w.hooks.callers[i].call() } // the Context of a hook enters the shard
	r.bindMoves(w)
	r.sweep = r.in("sweep", func(i int) { w.shards[i].Sweep() })
	r.recycle = func(i int) {
		if i < len(w.shards) {
			w.shards[i].Recycle(&r.exiled)
			return
		}
		for _, s := range w.shards {
			w.outside.Recycle(s.Outer())
		}
	}
	r.release = func(i int) { r.shares[i].release() }
	r.settle = r.in("settle", func(i int) {
		w.mail[i].flip()
		w.shards[i].Settle()
	})
	r.tell = func(i int) { r.shares[i].tell() }
}

// in makes a step enter the shard that it works on, in the check build.
func (r *refresh) in(step string, f func(int)) func(int) {
	if !check.Enabled {
		return f
	}
	who := &shard.Visitor{What: "step " + step + " of the refresh"}
	return func(i int) {
		r.w.shards[i].Enter(who)
		defer r.w.shards[i].Leave()
		f(i)
	}
}

// serial is the Parallel of one goroutine.
func serial(n int, f func(int)) {
	for i := range n {
		f(i)
	}
}

// Refresh ends a tick, or settles the idle world: requests are applied, the
// marked are destroyed and their handles become stale, storage is compact
// again, and messages become readable. It costs by what changed.
//
// It panics while a tick or another refresh runs, within what a refresh calls (functions,
// hooks, extensions) too, and within a query loop: that would move the rows it walks.
// It panics with a *BrokenError if an extension panics: the world is broken then.
func (w *World) Refresh() {
	w.take("Refresh", phaseRefresh)
	w.refresh.run(serial)
	w.giveBack()
}

// run makes a refresh. If it does not come to its end the world is broken.
func (r *refresh) run(parallel Parallel) {
	done := false
	defer r.w.guard(&done)
	r.steps(parallel)
	for _, s := range r.w.shards { // loops of the idle world are later ones than those of systems and hooks
		r.w.loop = max(r.w.loop, s.Loop)
	}
	done = true
}

func (r *refresh) steps(parallel Parallel) {
	w, n := r.w, len(r.w.shards)
	w.outdate()
	w.deaf = nil
	for _, c := range w.contexts {
		if c.failures != nil {
			c.failures, c.omitted = nil, 0
		}
	}
	if w.hearing != nil {
		w.hearing.begin.call()
	}
	if f := w.feed; f != nil {
		w.shift(f.shifts)
		f.shifts = f.shifts[:0]
	}
	cut, ports := w.ports.cut(&w.epoch)
	r.cut = cut
	sent, moves := r.gather(ports), 0
	if sent > 0 || r.shifted > 0 {
		moves = r.requests(parallel, sent)
	} else if r.clear {
		w.markAll()
	}
	w.outside.Cut()
	if w.hearing != nil {
		w.hearing.taken()
	}
	r.releases.take(w.anchor.Load())
	for _, h := range r.releases.due {
		if l := w.space.Locate(h); l != 0 {
			w.space.Mark(l)
		}
	}
	if len(w.extensions.all) > 0 && w.extensions.refresh(r.shares) && r.veiled {
		serial(n, r.unveil) // the spared are not marked any more
	}
	if len(w.hooks.all) > 0 {
		r.step(parallel, n, w.hooks.due(), r.observe)
	}
	if moves > 0 {
		r.move(parallel, moves)
	}
	doomed := r.sum((*shard.Shard).Doomed)
	r.step(parallel, n, doomed+moves, r.sweep)
	if sent > 0 || doomed > 0 {
		if foreign := r.sum((*shard.Shard).Foreign); foreign > 0 {
			r.exiled.Gather(w.shards)
			r.step(parallel, n+1, foreign, r.recycle)
		}
	}
	r.step(parallel, len(r.shares), sent, r.release)
	w.ports.retire()
	w.outside.Restock()
	if w.hearing != nil {
		w.hearing.finish()
	}
	w.space.Sync(w.columns)
	if check.Enabled {
		w.space.Shift(w.columns)
	}
	w.space.SetTick(w.tick.next())
	w.space.Trim(w.columns)
	unsettled := r.sum((*shard.Shard).Unsettled)
	for i := range w.mail {
		unsettled += len(w.mail[i].boxes)
	}
	r.step(parallel, n, unsettled, r.settle)
	r.step(parallel, len(r.shares), sent, r.tell) // all is done: who hears an outcome finds it so
}

// requests does what was sent, but for moves and what is for extensions, and returns
// how many requests to move there were.
func (r *refresh) requests(parallel Parallel, sent int) (moves int) {
	n := len(r.w.shards)
	r.divide(sent)
	r.veiled, r.calls = r.clear, false
	r.step(parallel, len(r.shares), sent, r.read)
	created, waiting, others := 0, 0, 0
	for _, x := range r.shares {
		created, waiting, others = created+x.created, waiting+x.waiting(), others+len(x.Others)
		moves += x.Moves
		r.veiled, r.calls = r.veiled || x.Cancels || x.Calls, r.calls || x.Calls // functions may destroy, too
	}
	moves, r.shifted = moves+r.shifted, 0
	for _, s := range r.w.shards {
		s.Moving = moves > 0
	}
	r.step(parallel, n, created, r.create)
	r.step(parallel, len(r.shares), waiting, r.route)
	if r.calls {
		r.step(parallel, n, others, r.call)
	} else {
		r.step(parallel, n, others, r.apply)
	}
	if r.clear { // before what was created is unveiled: hooks are told of none of that
		r.w.markAll()
	}
	if r.veiled {
		r.step(parallel, n, created, r.unveil)
	}
	return moves
}

// outdate makes the check build refuse views of rows that are about to move.
func (w *World) outdate() {
	if check.Enabled {
		w.space.Outdate()
	}
}

func (r *refresh) sum(of func(*shard.Shard) int) int {
	n := 0
	for _, s := range r.w.shards {
		n += of(s)
	}
	return n
}

// step runs f in parallel if there is enough to do, alone if there is little,
// and not at all if there is nothing.
func (r *refresh) step(parallel Parallel, n, work int, f func(int)) {
	switch {
	case work == 0:
	case work < smallStep || n == 1:
		serial(n, f)
	default:
		r.part = f
		parallel(n, r.guarded)
		if e := r.caught.Load(); e != nil {
			panic(e)
		}
	}
}

// guard runs a part of a step that runs in parallel: a panic is kept for the coordinator.
func (r *refresh) guard(i int) {
	done := false
	defer func() {
		if !done {
			r.caught.CompareAndSwap(nil, asBroken(r.w, recover()))
		}
	}()
	r.part(i)
	done = true
}

// gather finds the lanes that something was sent on, ports by number, then the
// shards' outboxes, and returns how much.
func (r *refresh) gather(ports bool) (sent int) {
	w := r.w
	clear(r.ports)
	clear(r.sources)
	r.ports, r.sources, r.shares = r.ports[:0], r.sources[:0], nil
	if w.closed.Load() {
		return 0 // who sends now takes it back: see tooLate
	}
	if ports {
		r.ports = w.ports.collect(r.ports)
	}
	for _, e := range r.ports {
		lane := e.queue.Load()
		sent += lane.Ready()
		r.sources = append(r.sources, source{lane, e})
	}
	if f := w.feed; f != nil { // there are no ports
		sent += f.lane.Ready()
		r.sources = append(r.sources, source{lane: f.lane})
	}
	for _, c := range w.contexts {
		if l := c.out.lane; l != nil && !l.Empty() {
			sent += l.Ready()
			r.sources = append(r.sources, source{lane: l})
		}
	}
	return sent
}

// divide cuts the sources into shares of about as many requests each.
func (r *refresh) divide(sent int) {
	n := min(len(r.sources), max(1, sent/smallStep), sharesMax)
	for len(r.all) < n {
		r.all = append(r.all, newShare(r.w, len(r.all)))
	}
	r.shares = r.all[:n]
	rest, seen := r.sources, 0
	for i, x := range r.shares {
		to := 0
		for to < len(rest) && (i == n-1 || seen < sent*(i+1)/n) {
			seen += rest[to].lane.Ready()
			to++
		}
		x.sources, rest = rest[:to], rest[to:]
	}
}
