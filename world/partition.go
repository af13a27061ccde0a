package world

import (
	"github.com/atoll-sim/atoll/internal/queue"
	"github.com/atoll-sim/atoll/internal/store"
)

// producer is one queue that a refresh reads.
type producer struct {
	queue *queue.Queue
	port  *endpoint // nil: the queue of a shard's systems, or of a Replayer
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
	w *World
	queue.Drained
	number    int
	producers []producer
	created   int            // how many creates there are
	routed    int            // how many of the others have found their shard
	to        [][]uint32     // by shard
	lost      queue.Outcomes // outcomes of requests that no shard decides
	_         [64]byte       // other partitions are read by other workers
}

func newPartition(w *World, number int) *partition {
	x := &partition{w: w, number: number, to: make([][]uint32, len(w.shards))}
	x.Creates = make([][]queue.PendingRequest, len(w.shards))
	return x
}

// read takes what was sent up to the cut, and finds the owners of the entities that it
// concerns. A request for an entity that is not alive may be for one that is created in this
// refresh. So it has to wait, and so do all requests behind it, to keep the order.
func (x *partition) read(cut uint32) {
	var seen []uint32
	if h := x.w.recording; h != nil {
		seen = h.partitions[x.number].record(x, cut)
	}
	for i, from := range x.producers {
		sent := from.queue.Sent()
		if i < len(seen) {
			sent = seen[i]
		}
		x.created += from.queue.Drain(sent, cut, &x.Drained)
		if p := from.port; p != nil && !from.queue.Empty() { // sent after the cut
			p.activate()
		}
	}
	for x.routed < len(x.Others) && x.deliver() {
	}
}

// deliver puts the next request in the list of the shard that it is for, and reports whether
// there was one.
func (x *partition) deliver() bool {
	q := x.Others[x.routed]
	owner := q.For()
	if owner < 0 {
		l := q.Loc()
		if l == 0 {
			return false
		}
		owner = x.w.space.Owner(l)
	}
	x.to[owner] = append(x.to[owner], uint32(x.routed))
	x.routed++
	return true
}

// waiting returns how many requests have to wait for the creates.
func (x *partition) waiting() int { return len(x.Others) - x.routed }

// route delivers the requests that had to wait.
func (x *partition) route() {
	for x.waiting() > 0 {
		if !x.deliver() {
			x.lost.Decide(x.Others[x.routed].Request, queue.Gone)
			x.routed++
		}
	}
}

// create stores the atoms that are created in a shard.
func (x *partition) create(s *store.Shard, staged bool) {
	if creates := x.Creates[s.ID()]; len(creates) > 0 {
		s.ApplyCreates(creates, staged)
	}
}

// apply applies the other requests for a shard.
func (x *partition) apply(s *store.Shard) {
	if to := &x.to[s.ID()]; len(*to) > 0 {
		s.ApplyRequests(x.Others, *to, x.number)
		*to = (*to)[:0]
	}
}

// release gives the queues their room back.
func (x *partition) release() {
	x.Forget()
	x.created, x.routed = 0, 0
	for _, from := range x.producers {
		from.queue.Release()
		if from.port != nil {
			from.port.wake()
		}
	}
}

// notify notifies the outcomes of the requests.
func (x *partition) notify() {
	for _, from := range x.producers {
		from.queue.Notify()
	}
}
