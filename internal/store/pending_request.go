package store

import (
	"github.com/atoll-sim/atoll/internal/mem"
	"github.com/atoll-sim/atoll/internal/slots"
)

// PendingRequest is a request that was taken out of its queue, on its way to the shard it
// concerns. It is good until the queue is released.
type PendingRequest struct {
	*Request
	payload mem.Pointer
	slot    *slots.Slot // the one that the handle names, or nil; not set for a create
}

// Payload returns where the request's payload is.
func (r PendingRequest) Payload() mem.Pointer { return r.payload }

// For returns the number of the shard that a request is for, or -1 if it is for an entity.
func (r PendingRequest) For() int {
	if r.flags&direct != 0 {
		return int(r.flags & shards)
	}
	return -1
}

// Loc returns the location of the atom that the request is for, if it is alive or staged, or 0.
func (r PendingRequest) Loc() slots.Loc {
	if r.slot != nil {
		return r.slot.LocStaged(r.Handle)
	}
	return 0
}

// toCome reports whether the request is for an entity that this refresh may yet store.
func (r PendingRequest) toCome() bool {
	return r.slot != nil && r.slot.ToCome(r.Handle)
}

// Drained are requests that were taken out of queues, in order.
//
// Ownership: the worker that drains; then the worker of each shard has the creates of that
// shard, and all may read the others.
type Drained struct {
	Creates [][]PendingRequest // by the shard they go to
	Others  []PendingRequest
	Moves   int              // how many of Others are to migrate
	Joint   []PendingRequest // those of joint kinds; see NewJoint
	// Cancels says that the refresh may destroy an entity that it creates, Calls that
	// functions of the user's are to run.
	Cancels, Calls bool
}

// add adds a request that is not a create.
func (d *Drained) add(r PendingRequest, k *kindInfo) {
	switch {
	case k.joint:
		d.Joint = append(d.Joint, r)
		return
	case k.call:
		d.Calls = true
	case r.kind == moveKind:
		d.Moves++
	case r.kind == destroyKind && r.toCome():
		d.Cancels = true
	}
	d.Others = append(d.Others, r)
}

// Forget drops the requests. Their queues are about to be released.
func (d *Drained) Forget() {
	for i, all := range d.Creates {
		clear(all)
		d.Creates[i] = all[:0]
	}
	clear(d.Others)
	clear(d.Joint)
	d.Joint = d.Joint[:0]
	d.Others, d.Moves, d.Cancels, d.Calls = d.Others[:0], 0, false, false
}

// ApplyCreates stores the atoms of pending handles. They are alive at once or, if staged, for
// the time being alive only to this refresh.
func (s *Shard) ApplyCreates(creates []PendingRequest, staged bool) {
	s.staging = 0
	if staged {
		s.staging = slots.StagedBit
	}
	for len(creates) > 0 {
		n := 1 // of one kind
		for n < len(creates) && creates[n].kind == creates[0].kind {
			n++
		}
		s.space.kinds[creates[0].kind].handler.(Creator).CreateAll(s, creates[:n])
		creates = creates[n:]
	}
}

// DecideCreate decides the outcome of a create. The slot of a create that was not applied
// goes back to its home.
func (s *Shard) DecideCreate(r PendingRequest, o Outcome) {
	if o != Applied {
		s.FreeForeign(r.Handle)
	}
	s.Decide(r, o)
}

// Commit makes the staged atoms of the creates alive, except those that the same refresh has
// marked.
func (s *Shard) Commit(creates []PendingRequest) {
	for _, r := range creates {
		slot := s.space.Slot(r.Handle)
		if slot.Load() == uint32(r.Handle)^slots.StagedBit && !s.space.Marked(slot.Loc) {
			slot.Store(uint32(r.Handle)) // publishes loc and the row
		}
	}
}

// Apply does what a request of a joint kind asks for.
func (s *Space) Apply(r PendingRequest) Outcome {
	return s.kinds[r.kind].handler.Apply(nil, r.Handle, s.Locate(r.Handle), r.payload)
}

// ApplyRequests does what some of the requests of a partition ask for, which are given by
// their indexes. The first request to destroy an entity marks it; later requests find it
// gone. share is the number of the partition. If a function ended the goroutine in the middle
// of ApplyRequests, the next call goes on behind that function's request.
func (s *Shard) ApplyRequests(requests []PendingRequest, indexes []uint32, share int) {
	if s.applying > 0 {
		s.Decide(requests[indexes[s.applying-1]], Failed)
	}
	for s.applying < len(indexes) {
		i := indexes[s.applying]
		r := requests[i]
		s.applying++
		if r.kind == moveKind {
			s.ask(r)
			continue
		}
		s.order = uint64(share)<<32 | uint64(i)
		o := s.apply(r)
		if r.kind == destroyKind && s.HoldDestroys {
			s.held = append(s.held, held{r, o == Applied})
			continue
		}
		s.Decide(r, o)
	}
	s.applying = 0
}

// Order returns the place of the request that is being applied among all requests of its
// refresh.
func (s *Shard) Order() uint64 { return s.order }

func (s *Shard) apply(r PendingRequest) Outcome {
	l := r.Loc()
	if l == 0 {
		if r.flags&direct != 0 {
			return s.space.kinds[r.kind].handler.Apply(s, r.Handle, 0, r.payload)
		}
		return Gone
	}
	switch c := s.space.chunk(l); {
	case c.isMarked(l.Row()):
		return Gone
	case r.kind == destroyKind:
		c.mark(l.Row())
		return Applied
	}
	return s.space.kinds[r.kind].handler.Apply(s, r.Handle, l, r.payload)
}
