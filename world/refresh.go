package world

import (
	"github.com/atoll-sim/atoll/handle"
	"github.com/atoll-sim/atoll/shard"
)

// Parallel runs f(0) … f(n-1), on as many goroutines as it likes, and returns
// when all are done.
type Parallel func(n int, f func(i int))

// smallStep is the number of things to do in a step of the refresh below which
// the coordinator does them alone: waking a worker costs more.
const smallStep = 512

// refresh is the work of ending a tick:
//
//	gather   close the epoch; read the lanes in order        coordinator
//	create   store the atoms of pending handles              by owner
//	route    find the owners of what the rest concerns       coordinator
//	apply    set, deliver, mark                              by owner
//	extend   what extensions were asked; deaths that follow  coordinator
//	sweep    close the holes of the marked                   by owner
//	recycle  free the slots of dead who were at home elsewhere   by home
//	settle   supply ports, flip messages, tell outcomes      coordinator, by shard
//
// A step with nothing to do is skipped.
//
// Ownership: the coordinator, which is the goroutine that called Refresh. Steps
// that run in parallel touch one shard each.
type refresh struct {
	w        *World
	ports    []*Port
	lanes    []*shard.Lane
	others   []shard.Routed
	released []handle.Handle // by references
	lost     shard.Inbox     // requests that found nobody

	// The steps, bound once: a closure made at each refresh would be garbage.
	create, apply, sweep, recycle, settle func(int)
}

func (r *refresh) init(w *World) {
	r.w = w
	r.create = func(i int) { w.shards[i].ApplyCreates() }
	r.apply = func(i int) { w.shards[i].ApplyRequests() }
	r.sweep = func(i int) { w.shards[i].Sweep() }
	r.recycle = func(i int) {
		for _, s := range w.shards {
			if i < len(w.shards) {
				w.shards[i].Recycle(s.Exiled())
			} else {
				w.outside.Recycle(s.Exiled())
			}
		}
	}
	r.settle = func(i int) {
		for _, m := range w.messages {
			m.flip(i)
		}
		w.shards[i].Settle()
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
func (w *World) Refresh() {
	w.mustSettle("Refresh")
	w.refresh.run(serial)
}

func (r *refresh) run(parallel Parallel) {
	w, n := r.w, len(r.w.shards)
	r.gather(w.epoch.Add(1) - 1)
	r.step(parallel, n, r.sum((*shard.Shard).Creates), r.create)
	r.route()
	r.step(parallel, n, r.sum((*shard.Shard).Others), r.apply)
	w.extensions.refresh(&r.lost)
	r.step(parallel, n, r.sum((*shard.Shard).Doomed), r.sweep)
	r.step(parallel, n+1, r.sum(exiles), r.recycle)
	for _, l := range r.lanes {
		l.Release()
	}
	for _, p := range r.ports {
		p.supply(w.outside)
	}
	w.ports.retire(w.outside)
	w.outside.Restock()
	w.space.Sync(w.columns)
	w.space.SetTick(w.tick.Add(1))
	r.lost.Tell() // all is done: who hears an outcome finds it so
	for _, s := range w.shards {
		s.Tell()
	}
	serial(n, r.settle) // tells outcomes, so it is last: who is told finds room in the lane
	r.lost.Tell()
}

func exiles(s *shard.Shard) int { return len(s.Exiled()) }

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
	case work < smallStep:
		serial(n, f)
	default:
		parallel(n, f)
	}
}

// gather reads what was sent up to the cut: ports by number, then the shards'
// outboxes.
func (r *refresh) gather(cut uint32) {
	w := r.w
	clear(r.ports)
	r.ports = w.ports.collect(r.ports[:0])
	r.lanes = r.lanes[:0]
	for _, p := range r.ports {
		if p.lane != nil {
			p.creates += r.drain(p.lane, cut)
			if !p.lane.Empty() { // sent after the cut
				p.activate()
			}
		}
	}
	for _, c := range w.contexts {
		if c.out.lane != nil {
			r.drain(c.out.lane, cut)
		}
	}
	r.released = w.anchor.Load().take(r.released[:0])
	for _, h := range r.released {
		r.others = append(r.others, shard.Routed{Handle: h})
	}
}

// drain takes a lane's requests and returns the number of creates among them.
func (r *refresh) drain(l *shard.Lane, cut uint32) (creates int) {
	r.lanes = append(r.lanes, l)
	for q := l.Take(cut); q != nil; q = l.Take(cut) {
		to := shard.Routed{Handle: q.Handle, Stream: q.Stream, Done: q.Done}
		if q.Stream != nil {
			to.Payload = l.Payload(q.Stream)
		}
		if q.Create {
			r.w.shards[q.Shard].PutCreate(to)
			creates++
		} else if q.Joint {
			r.w.extensions.put(to)
		} else {
			r.others = append(r.others, to)
		}
	}
	return creates
}

// route brings the requests on existing entities to their owners.
func (r *refresh) route() {
	for i := range r.others {
		q := &r.others[i]
		if l := r.w.space.Locate(q.Handle); l != 0 {
			r.w.shardOf(l).Put(*q)
		} else {
			r.lost.Decide(q.Done, shard.Gone)
		}
	}
	clear(r.others)
	r.others = r.others[:0]
}
