package world

import "github.com/atoll-sim/atoll/shard"

// source is one lane that a refresh reads.
type source struct {
	lane *shard.Lane
	port *endpoint // nil: of a shard's systems
}

// share is a run of neighbouring sources that one worker reads.
//
//	sources  p0 p1 p2 │ p3 … p9 │ s0 s1 │ s2 s3      ports by number, then shards
//	shares       0    │    1    │   2   │   3
//
//	Others   q0 q1 q2 q3 q4 q5 …    of each share, in the order sent
//	to       [shard 0] 0 3 4 …      which of them are for which shard
//	         [shard 1] 1 2 5 …
//
// A shard that goes through its lists share by share has its requests in the
// order of the sources, however those were divided.
//
// Ownership: the worker that reads it; when it is read, the shards' workers may
// look at Others, and each has its own lists.
type share struct {
	w *World
	shard.Drained
	number  int
	sources []source
	created int            // how many creates there are
	routed  int            // how many of the others have found their shard
	to      [][]uint32     // by shard
	lost    shard.Outcomes // of requests that found nobody
	_       [64]byte       // other shares are read by other workers
}

func newShare(w *World, number int) *share {
	x := &share{w: w, number: number, to: make([][]uint32, len(w.shards))}
	x.Creates = make([][]shard.Routed, len(w.shards))
	return x
}

// read takes what was sent up to the cut, and finds the owners of what it
// concerns. What concerns an entity that is not alive may be for one that is
// created in this refresh, so it has to wait, and all behind it, to keep the
// order.
func (x *share) read(cut uint32) {
	var seen []uint32
	if h := x.w.hearing; h != nil {
		seen = h.shares[x.number].hear(x, cut)
	}
	for i, from := range x.sources {
		creates := 0
		if i < len(seen) {
			creates = from.lane.DrainSeen(seen[i], cut, &x.Drained)
		} else {
			creates = from.lane.Drain(cut, &x.Drained)
		}
		x.created += creates
		if p := from.port; p != nil && !from.lane.Empty() { // sent after the cut
			p.activate()
		}
	}
	for x.routed < len(x.Others) && x.deliver() {
	}
}

// deliver puts the next request in the list of the shard that it is for, and
// reports whether there is one.
func (x *share) deliver() bool {
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
func (x *share) waiting() int { return len(x.Others) - x.routed }

// route delivers what had to wait.
func (x *share) route() {
	for x.waiting() > 0 {
		if !x.deliver() {
			x.lost.Decide(x.Others[x.routed], shard.Gone)
			x.routed++
		}
	}
}

// create stores the atoms that are to be in a shard.
func (x *share) create(s *shard.Shard, veiled bool) {
	if creates := x.Creates[s.ID()]; len(creates) > 0 {
		s.ApplyCreates(creates, veiled)
	}
}

// apply does what else is asked of a shard.
func (x *share) apply(s *shard.Shard) {
	if to := &x.to[s.ID()]; len(*to) > 0 {
		s.ApplyRequests(x.Others, *to, x.number)
		*to = (*to)[:0]
	}
}

// release gives the room in the lanes back to the senders.
func (x *share) release() {
	x.Forget()
	x.created, x.routed = 0, 0
	for _, from := range x.sources {
		from.lane.Release()
		if from.port != nil {
			from.port.wake()
		}
	}
}

// tell tells the outcomes to who waits.
func (x *share) tell() {
	for _, from := range x.sources {
		from.lane.Tell()
	}
}
