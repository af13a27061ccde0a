package refresh

import (
	"github.com/atoll-sim/atoll/internal/extend"
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/slots"
	"github.com/atoll-sim/atoll/internal/store"
)

// producer is one queue that a refresh reads.
type producer struct {
	queue  *queue.Queue
	port   *Endpoint // nil: the queue of a shard's systems, or of a replay
	shard  int       // of a shard's systems; the number of shards for global ones
	upto   uint32    // of a port in a sealed tick: the counter up to which its requests are taken
	begins []uint32  // of a replay: the counters of the queue at which each port's requests begin
}

// partition is a run of neighbouring producers that one worker reads.
//
//	producers  p0 p1 p2 │ p3 … p9 │ s0 s1 │ s2 s3      ports by number, then shards
//	partitions       0    │    1    │   2   │   3
//
//	Others   q0 q1 q2 q3 q4 q5 …    of each partition, in the order sent
//	to       [shard 0] 0 3 4 …      which of them are for which shard
//	         [shard 1] 1 2 5 …
//
// A shard that goes through its lists partition by partition has its requests in the order of
// the producers, however the producers were divided.
//
// Ownership: the worker that reads it. When it is read, the shards' workers may look at Others,
// and each has its own lists.
type partition struct {
	e *Engine
	queue.Drained
	number    int
	producers []producer
	created   int        // how many creates there are
	routed    int        // how many of the others have found their shard
	within    int        // how many requests of the next record of many have found theirs
	arrived   int        // like routed, counting each of many
	to        [][]uint32 // by shard
	targets   [][]store.Target
	opened    []int          // by shard: where in targets those of the last record of many begin
	ends      []int          // by port: where its requests in Kept end
	joints    []store.Sender // of the requests to extensions
	sender    int            // of joints: the one whose requests are being applied
	extended  int            // how many of Joint were begun
	extending bool           // the last of these is not done
	last      bool           // kinds that are applied last have their turn
	senders   []store.Sender // of Others
	lost      queue.Outcomes // outcomes of requests that no shard decides
	_         [64]byte       // other partitions are read by other workers
}

// newPartition makes an empty partition, which is used again in later refreshes.
func newPartition(e *Engine, number int) *partition {
	x := &partition{e: e, number: number, to: make([][]uint32, len(e.Shards)), targets: make([][]store.Target, len(e.Shards)), opened: make([]int, len(e.Shards))}
	x.Creates = make([][]queue.PendingRequest, len(e.Shards))
	return x
}

// read takes the requests that were sent up to the cut, and finds the owners of their entities,
// while senders may send more. It reads slots, and no rows. A request for an entity that is not
// alive may be for one that is created in this refresh. So it has to wait, and so do all requests
// behind it, to keep the order.
func (x *partition) read() {
	records, cut := x.e.records(), x.e.cut
	for i, from := range x.producers {
		x.Keep = records && from.port != nil
		for _, next := range from.begins {
			x.take(from, next, cut, true)
		}
		switch {
		case from.port == nil:
			x.take(from, from.queue.Sent(), x.e.Epoch.Load(), len(from.begins) > 0) // its sender has ended
		case x.e.seal.on:
			x.take(from, from.upto, cut, true)
		default:
			x.take(from, from.queue.Sent(), cut, true)
		}
		if x.Keep {
			x.ends = append(x.ends, len(x.Kept))
		}
		if p := from.port; p != nil && !from.queue.Empty() { // sent after the cut
			p.Activate()
		}
		if f := x.e.Meanwhile.Read; f != nil {
			f(i)
		}
	}
	if len(x.Kept) > 0 {
		x.e.recording.partitions[x.number].call()
	}
	x.lost.Add(queue.Failed, x.Failed)
	x.route(false)
	for _, q := range x.Others[x.routed:] { // they may be for entities that are created later in this refresh
		x.Cancels = x.Cancels || q.IsMany() && q.Kind() == queue.DestroyKind
	}
}

// record passes the requests of ports to a Recorder, on the worker that reads the partition.
func (x *partition) record(to extend.Recorder) {
	from := 0
	for i, end := range x.ends { // ports are the first producers
		if end > from {
			to.Requests(x.number, int(x.producers[i].port.Number), x.Kept[from:end])
		}
		from = end
	}
}

// take takes the requests of one sender, up to the cut, and notes where they end.
func (x *partition) take(from producer, sent, cut uint32, port bool) {
	joint, others := len(x.Joint), len(x.Others)
	x.created += from.queue.Drain(sent, cut, &x.Drained)
	if n := len(x.Joint); n > joint {
		x.joints = append(x.joints, store.Sender{End: n, Port: port, Shard: from.shard})
	}
	if n := len(x.Others); n > others {
		x.senders = append(x.senders, store.Sender{End: n, Port: port, Shard: from.shard})
	}
}

// route puts the requests in the lists of the shards that they are for, in order, until one is for
// an entity that has no shard yet. In the last attempt such a request is decided as Gone.
func (x *partition) route(last bool) {
	for x.routed < len(x.Others) {
		q := &x.Others[x.routed]
		if q.IsMany() {
			if !x.routeMany(q, last) {
				return
			}
			continue
		}
		owner := q.For()
		if owner < 0 {
			switch l := q.Loc(); {
			case l != 0:
				owner = x.e.Space.Owner(l)
			case last:
				x.lost.Decide(q.Request, queue.Gone)
			default:
				return
			}
		}
		if owner >= 0 {
			x.to[owner] = append(x.to[owner], uint32(x.routed))
		}
		x.routed++
		x.arrived++
	}
}

// routeMany is route for many requests in one record, and reports whether it is done with them.
// Each shard gets the record in its list once, and its own entities as targets.
func (x *partition) routeMany(q *queue.PendingRequest, last bool) bool {
	handles := q.Handles()
	for x.within < len(handles) {
		first := x.e.Space.LocateStaged(handles[x.within])
		if first == 0 {
			if !last {
				return false
			}
			x.lost.DecideOne(*q, x.within, queue.Gone)
			x.within++
			continue
		}
		n := 1 // the length of the run
		for _, h := range handles[x.within+1:] {
			if l := x.e.Space.LocateStaged(h); l != first+slots.Loc(n) || l.Row() == 0 {
				break
			}
			n++
		}
		owner := x.e.Space.Owner(first)
		to := &x.targets[owner]
		if have := x.to[owner]; len(have) == 0 || have[len(have)-1] != uint32(x.routed) {
			x.to[owner] = append(have, uint32(x.routed))
			x.opened[owner] = len(*to)
			*to = append(*to, store.Target{})
		}
		*to = append(*to, store.Target{Loc: first, At: uint32(x.within), N: uint32(n)})
		(*to)[x.opened[owner]].N++
		x.within += n
	}
	x.within = 0
	x.routed++
	x.arrived += q.Len()
	return true
}

// waiting returns how many requests have to wait for the creates of the refresh.
func (x *partition) waiting() int { return x.Count - x.arrived }

// create stores the atoms that are created in a shard, on its worker.
func (x *partition) create(s *store.Shard, staged bool) {
	if creates := x.Creates[s.ID()]; len(creates) > 0 {
		s.ApplyCreates(creates, staged)
	}
}

// apply applies the partition's other requests for a shard, on its worker, and empties the shard's
// lists.
func (x *partition) apply(s *store.Shard) {
	if to := &x.to[s.ID()]; len(*to) > 0 {
		targets := &x.targets[s.ID()]
		s.ApplyRequests(x.Others, *to, *targets, x.senders, x.number)
		*to, *targets = (*to)[:0], (*targets)[:0]
	}
}

// release forgets the requests, gives the room in the queues back, and wakes senders that wait for
// it.
func (x *partition) release() {
	x.Forget()
	x.joints, x.senders, x.ends = x.joints[:0], x.senders[:0], x.ends[:0]
	x.created, x.routed, x.arrived, x.sender, x.extended, x.last = 0, 0, 0, 0, 0, false
	for _, from := range x.producers {
		from.queue.Release()
		if from.port != nil {
			from.port.wake()
		}
	}
}

// notify sends the outcomes of the requests, and forgets their queues.
func (x *partition) notify() {
	for _, from := range x.producers {
		from.queue.Notify()
	}
	x.producers = nil
}
